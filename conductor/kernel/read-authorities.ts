import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';

/** Where Debian, Ubuntu, Fedora and SUSE keep theirs. */
export const systemAuthorities = '/etc/ssl/certs';

const maxFileBytes = 1024 * 1024;

/**
 * The certificates of a PEM file, or of a directory's `.pem`, `.crt` and `.cer` files. Whoever describes a node names the
 * path: only files below `caDirectory` are opened, and nothing that could block or never end. Symbolic links there are
 * followed: who can write there is the conductor's operator.
 * @throws AppError `invalid_argument`; every failure says the same, or it would tell what files there are.
 */
export function readAuthorities(path: string, caDirectory: string): string {
  const below = resolve(caDirectory);
  const wanted = resolve(path);
  try {
    if (wanted === below || wanted.startsWith(`${below}/`)) {
      const pem = filesOf(wanted).map(readSmallFile).join('\n');
      if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
    }
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
  }
  throw new AppError(
    'invalid_argument',
    `driver_info for redfish: redfish_verify_ca must be true, false, or a file or directory of PEM certificates below ` +
      `${caDirectory} (BATON_CA_DIR) that the conductor can read, no file above 1 MiB`,
  );
}

function filesOf(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => /\.(pem|crt|cer)$/.test(name));
  return names.sort().map((name) => join(path, name));
}

function readSmallFile(path: string): string {
  // a pipe without a writer would block
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(file);
    return status.isFile() && status.size <= maxFileBytes ? readFileSync(file, 'utf8') : '';
  } finally {
    closeSync(file);
  }
}
