import { createReadStream, createWriteStream } from 'node:fs';
import { appendFile, lstat, open, readdir, readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import type { FilePart } from '#agent/kexec/unified-image.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Files of a mounted file system that comes from anywhere: links are followed inside of it, sizes have bounds. */

const maxTextBytes = 1024 * 1024;

/** `undefined` where there is none. @throws AppError `not_supported` for what is too large, or no file */
export async function readImageText(root: string, path: string, maxBytes = maxTextBytes): Promise<string | undefined> {
  const file = await findFile(root, path, maxBytes);
  return file && readFile(file.path, 'utf8');
}

/** Names in a folder; none where there is no such folder. */
export async function listImageNames(root: string, path: string): Promise<readonly string[]> {
  try {
    return await readdir(await resolveInside(root, path));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/**
 * Appends a file to one of the ramdisk's.
 * @param to `multipleOf`: filled up to that many bytes, as the archives of an initrd have to be
 * @returns its size in bytes
 * @throws AppError `not_found`; `not_supported` when it is larger than `maxBytes`, or no file
 */
export async function appendImageFile(
  root: string,
  path: string,
  to: { readonly file: string; readonly maxBytes: number; readonly multipleOf: 1 | 4; readonly part?: FilePart },
): Promise<number> {
  const file = await requireFile(root, path, to.part ? Infinity : to.maxBytes);
  const { offset, length } = to.part ?? { offset: 0, length: file.size };
  if (length > to.maxBytes) throw tooLarge(`a part of ${path}`, to.maxBytes);
  // no further than was looked at
  const range = { start: offset, end: offset + length - 1 };
  if (length > 0) await pipeline(createReadStream(file.path, range), createWriteStream(to.file, { flags: 'a' }));
  await appendFile(to.file, Buffer.alloc((to.multipleOf - (length % to.multipleOf)) % to.multipleOf));
  return length;
}

/** @throws AppError `not_found`; `not_supported` for what is not a file */
export async function sizeOfImageFile(root: string, path: string): Promise<number> {
  return (await requireFile(root, path, Infinity)).size;
}

/** All of it, or less at the file's end. @throws AppError as `sizeOfImageFile` */
export async function readImagePart(root: string, path: string, { offset, length }: FilePart): Promise<Buffer> {
  const { path: inside } = await requireFile(root, path, Infinity);
  await using handle = await open(inside);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

async function requireFile(root: string, path: string, maxBytes: number) {
  const file = await findFile(root, path, maxBytes);
  if (!file) throw new AppError('not_found', `the image has no file ${path}`);
  return file;
}

async function findFile(root: string, path: string, maxBytes: number) {
  const inside = await resolveInside(root, path);
  try {
    const { size, ...status } = await lstat(inside);
    // a pipe or a device would be waited for without end
    if ((status.mode & 0o170000) !== 0o100000)
      throw new AppError('not_supported', `${path} of the image is not a file`);
    if (size > maxBytes) throw tooLarge(path, maxBytes);
    return { path: inside, size };
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function tooLarge(what: string, maxBytes: number): AppError {
  return new AppError('not_supported', `${what} of the image is larger than ${maxBytes} bytes`);
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
