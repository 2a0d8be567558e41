import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unwatchFile,
  watchFile,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** Content of files, read again when they change. */
export interface WatchedFiles<Content> {
  current(): Content;
  close(): void;
}

/** They are looked at, not listened to: secrets that Kubernetes mounts are replaced by moving a symbolic link. */
const lookEveryMs = 1000;

/**
 * @throws AppError what `read` throws at first; later on, what was read before stays and the error is logged.
 */
export async function watchFiles<Content>(
  files: readonly string[],
  read: () => Promise<Content>,
  options: {
    readonly log: Log;
    readonly onChange?: (content: Content) => void;
    /** Milliseconds; tests can't wait long. */
    readonly everyMs?: number;
  },
): Promise<WatchedFiles<Content>> {
  const state: { content: Content } = { content: await read() };
  const readAgain = (): void => {
    read().then(
      (content) => {
        state.content = content;
        options.onChange?.(content);
        options.log.info({ files }, 'files have changed and were read again');
      },
      (err: unknown) =>
        options.log.error({ files, err }, 'files have changed and are not used: what they said before stays'),
    );
  };
  for (const file of files) watchFile(file, { interval: options.everyMs ?? lookEveryMs, persistent: false }, readAgain);
  return {
    current: () => state.content,
    close: () => {
      for (const file of files) unwatchFile(file, readAgain);
    },
  };
}

/** @throws AppError `invalid_argument` naming setting and file. */
export function throwUnreadable(setting: string, file: string): (cause: unknown) => never {
  return (cause) => {
    throw new AppError('invalid_argument', `${setting}: read ${file}`, { cause });
  };
}

/** Where Debian, Ubuntu, Fedora and SUSE keep theirs. */
export const systemAuthorities = '/etc/ssl/certs';

const maxFileBytes = 1024 * 1024;

/**
 * Reads the certificates of a PEM file, or of a directory's `.pem`, `.crt` and `.cer` files. Anyone who describes a node
 * names the path: only files below `caDirectory` are opened, and nothing that could block or never end. Symbolic links there
 * are followed: who can write there is the conductor's operator.
 * @param field what names the path
 * @throws AppError `invalid_argument`; every failure says the same, or it would reveal what files there are.
 */
export function readAuthorities(path: string, field: string, caDirectory: string): string {
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
    `driver_info for redfish: ${field} must be true, false, or a file or directory of PEM certificates below ` +
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
