import { createHash } from 'node:crypto';

/** Returns the fingerprint of an SSH host key, as OpenSSH prints it. */
export function fingerprint(hostKey: Buffer): string {
  return `SHA256:${createHash('sha256').update(hostKey).digest('base64').replace(/=+$/, '')}`;
}
