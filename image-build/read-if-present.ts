import { lstat, readFile } from 'node:fs/promises';

/** A file's text; `undefined` when there is no such file. Other failures are thrown. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  return await unlessMissing(() => readFile(path, 'utf8'));
}

/** Whether something is at `path`, a dangling link too. */
export async function isPresent(path: string): Promise<boolean> {
  return (await unlessMissing(() => lstat(path))) !== undefined;
}

/** What `read` gives; `undefined` when it fails because a file is missing. */
export async function unlessMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
