import { createHash } from 'node:crypto';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';

/**
 * Derives what a boot medium has in the token's place where the token is given to the machine's TPM alone: a machine that
 * shows it has booted from that medium, and no stranger ends its flow by asking in its place.
 */
export function bootProof(token: string): string {
  return createHash('sha256').update(`boot proof ${token}`).digest('base64url');
}

/** Whether the machine that asks was booted from what was served for this session. */
export function hasBootProof(
  secrets: Secrets,
  session: AgentSessionRow | undefined,
  shown: string | undefined,
): session is AgentSessionRow {
  if (!session || shown === undefined) return false;
  const token = openAgentToken(secrets, session);
  return isSameSecret(shown, bootProof(token)) || isSameSecret(shown, token);
}
