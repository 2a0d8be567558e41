import { unwatchFile, watchFile } from 'node:fs';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** What files say, read again when they change. */
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
export function unreadable(setting: string, file: string): (cause: unknown) => never {
  return (cause) => {
    throw new AppError('invalid_argument', `${setting}: read ${file}`, { cause });
  };
}
