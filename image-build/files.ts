import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { lstat, readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** SHA-256 in hex of a JSON rendering; the same value gives the same hash in every process. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

interface FileDigest {
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
}

export async function fileDigest(path: string): Promise<FileDigest> {
  return { size: (await stat(path)).size, sha256: await fileHash(path, 'sha256') };
}

/** Hash of a file's bytes in hex; holes of sparse files count as zeros. */
export async function fileHash(path: string, algorithm: 'sha256' | 'sha512'): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/**
 * One hash over names, modes, contents and link targets of all files below a directory: what a build's own recipe and
 * code is. Tests and documents don't count, for they change no output.
 * @param except tried on the paths relative to the directory
 */
export async function sourceHash(directory: string, except?: RegExp): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .filter((name) => !(/\.test\.ts$|\.md$/.test(name) || except?.test(name)))
    .sort();
  for (const name of names) {
    const path = join(directory, name);
    const { mode } = await lstat(path);
    const isLink = (mode & constants.S_IFMT) === constants.S_IFLNK;
    hash
      .update(`${name}\0${mode.toString(8)}\0`)
      .update(isLink ? await readlink(path) : await readFile(path))
      .update('\0');
  }
  return hash.digest('hex');
}

/** All plain files below a directory, sorted by path. */
export async function filesBelow(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** A file's text; `undefined` when there is no such file. Other failures are thrown. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  return await unlessMissing(() => readFile(path, 'utf8'));
}

/** Whether something is at `path`, a dangling link too. */
export async function isPresent(path: string): Promise<boolean> {
  return (await unlessMissing(() => lstat(path))) !== undefined;
}

/** Gives the result of `read`; `undefined` when it fails because a file is missing. */
export async function unlessMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
