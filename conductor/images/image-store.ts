import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, readdir, readFile, realpath, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type ChunkIndex, parseChunkIndex } from '#shared/chunks/chunk-index.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** An image in chunks, `NAME.caibx` in the directory of images. */
export interface StoredImage {
  readonly name: string;
  /** Where its links lead, if it is one: images of one file are one image of several names. */
  readonly file: string;
  /** Digest of the index: what a deploy names as the image's checksum. */
  readonly sha256: string;
  readonly addedAt: Date;
  /** `undefined` when it is damaged, or a link that leads nowhere. */
  readonly size: { readonly imageBytes: number; readonly chunks: number } | undefined;
}

export interface SweptChunks {
  readonly chunks: number;
  readonly bytes: number;
}

const ending = '.caibx';
const filesAtOnce = 16;
/** No reader takes it for a chunk. */
const asideEnding = '.unused';
/** One that is added just now names chunks before its index is there. */
const youngMs = 24 * 3_600_000;

/**
 * Lists images by name.
 * @param take called with the chunks of each, which are many: they are kept only by who needs them
 */
export async function listImages(
  directory: string,
  take: (image: StoredImage, index: ChunkIndex) => void = () => undefined,
): Promise<readonly StoredImage[]> {
  const read = async (name: string): Promise<StoredImage | undefined> => {
    const found = await readImage(directory, name);
    if (found?.index) take(found.image, found.index);
    return found?.image;
  };
  const images = await inParallel(await imageNamesIn(directory), read, { atOnce: filesAtOnce });
  return images.filter((image) => image !== undefined);
}

/** Lists the images, and the ids of the chunks that they have. */
export async function listChunks(
  directory: string,
): Promise<{ readonly images: readonly StoredImage[]; readonly ids: ReadonlySet<string> }> {
  const ids = new Set<string>();
  const images = await listImages(directory, (_image, { chunks }) => {
    for (const { id } of chunks) ids.add(id);
  });
  return { images, ids };
}

/** @throws AppError `not_found` */
export async function getImage(directory: string, name: string): Promise<StoredImage> {
  const found = await readImage(directory, name);
  if (!found) throw new AppError('not_found', `there is no image ${name}: \`baton image list\` shows them`);
  return found.image;
}

/** Lists the names of the image's file, its own among them. */
export async function namesOf(directory: string, { name, file }: StoredImage): Promise<readonly string[]> {
  const others = (await imageNamesIn(directory)).filter((other) => other !== name);
  const files = await inParallel(others, (other) => unlessMissing(realpath(indexPath(directory, other))), {
    atOnce: filesAtOnce,
  });
  return [name, ...others.filter((_other, at) => files[at] === file)];
}

async function imageNamesIn(directory: string): Promise<readonly string[]> {
  const files = (await namesIn(directory)).filter((file) => file.endsWith(ending)).sort();
  return files.map((file) => file.slice(0, -ending.length));
}

function indexPath(directory: string, name: string): string {
  return join(directory, `${name}${ending}`);
}

interface ReadImage {
  readonly image: StoredImage;
  readonly index: ChunkIndex | undefined;
}

/** @returns `undefined` when there is none, or the name is not a file's */
export async function readImage(directory: string, name: string): Promise<ReadImage | undefined> {
  if (/[/\0]/.test(name)) return undefined;
  const path = indexPath(directory, name);
  try {
    const [{ mtime }, content, file] = await Promise.all([stat(path), readFile(path), realpath(path)]);
    const index = tryParse(content);
    const size = index && { imageBytes: index.imageBytes, chunks: index.chunks.length };
    return { image: { name, file, sha256: sha256Of(content), addedAt: mtime, size }, index };
  } catch (error) {
    if (!isMissing(error)) throw error;
    const link = await lstat(path).catch(() => undefined);
    if (!link?.isSymbolicLink()) return undefined; // removed meanwhile
    const sha256 = sha256Of(Buffer.alloc(0));
    return { image: { name, file: path, sha256, addedAt: link.mtime, size: undefined }, index: undefined };
  }
}

function sha256Of(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function tryParse(file: Buffer): ChunkIndex | undefined {
  try {
    return parseChunkIndex(file);
  } catch {
    return undefined; // said to be damaged, and never taken for an image without chunks
  }
}

/** Counts the bytes of an image's chunks as they are stored, and of those that no other image has. */
export async function measureImage(
  directory: string,
  image: StoredImage,
): Promise<{ readonly storedBytes: number; readonly ownBytes: number }> {
  const [own, others] = [new Set<string>(), new Set<string>()];
  await listImages(directory, ({ file }, { chunks }) => {
    const ids = file === image.file ? own : others;
    for (const { id } of chunks) ids.add(id);
  });
  const sizes = await inParallel(
    own,
    async (id) => ({ bytes: await sizeOf(chunkPath(directory, id)), isOwn: !others.has(id) }),
    { atOnce: filesAtOnce },
  );
  const sum = (of: typeof sizes): number => of.reduce((bytes, each) => bytes + each.bytes, 0);
  return { storedBytes: sum(sizes), ownBytes: sum(sizes.filter(({ isOwn }) => isOwn)) };
}

/** The image's index; its chunks are left to `sweepChunks`. */
export async function removeImage(directory: string, name: string): Promise<void> {
  await remove(indexPath(directory, name));
}

/** Returns whether it is as it was listed: not added again since. */
export async function isAsListed(directory: string, image: StoredImage): Promise<boolean> {
  const now = (await readImage(directory, image.name))?.image;
  const { file, sha256, addedAt } = image;
  return now?.file === file && now.sha256 === sha256 && now.addedAt.getTime() === addedAt.getTime();
}

/**
 * Removes chunks that no image has, but for young ones.
 * @param needed ids of those that they have: of all, of which none is damaged
 */
export async function sweepChunks(
  directory: string,
  needed: ReadonlySet<string>,
  clock: Pick<Clock, 'now'>,
): Promise<SweptChunks> {
  const store = join(directory, 'default.castr');
  const removed = { chunks: 0, bytes: 0 };
  for (const folder of await namesIn(store)) {
    if (!/^[0-9a-f]{4}$/.test(folder)) continue;
    for (const name of await namesIn(join(store, folder))) {
      const [, id, isAside] = /^([0-9a-f]{64})\.cacnk(\.unused)?$/.exec(name) ?? [];
      if (id === undefined) continue;
      if (isAside !== undefined) await putBack(join(store, folder, name));
      else if (!needed.has(id)) {
        const bytes = await sweepChunk(join(store, folder, name), clock);
        removed.chunks += bytes === undefined ? 0 : 1;
        removed.bytes += bytes ?? 0;
      }
    }
  }
  return removed;
}

/**
 * Sets a chunk aside before it is removed: an add that has found it there meanwhile has made it young, and one that looks
 * for it now writes it again.
 * @returns its bytes, if it was removed
 */
async function sweepChunk(path: string, clock: Pick<Clock, 'now'>): Promise<number | undefined> {
  const aside = `${path}${asideEnding}`;
  const find = async (at: string): Promise<Stats | undefined> => {
    const found = await unlessMissing(stat(at));
    return found && clock.now().getTime() - found.mtimeMs >= youngMs ? found : undefined;
  };
  if (!(await find(path))) return undefined;
  await writing(path, () => unlessMissing(rename(path, aside)));
  const found = await find(aside);
  if (!found) {
    await writing(path, () => unlessMissing(rename(aside, path)));
    return undefined;
  }
  await remove(aside);
  return found.size;
}

/** Puts back what a sweep that broke off has set aside: young, as an add may have written it again. */
async function putBack(aside: string): Promise<void> {
  const now = new Date();
  await writing(aside, () => unlessMissing(utimes(aside, now, now)));
  await writing(aside, () => unlessMissing(rename(aside, aside.slice(0, -asideEnding.length))));
}

/** @throws AppError `conflict` when an image's index is damaged: nobody knows which chunks it has */
export function requireWhole(images: readonly StoredImage[]): void {
  const damaged = images.find(({ size }) => !size);
  if (!damaged) return;
  throw new AppError(
    'conflict',
    `the index of image ${damaged.name} is damaged, or leads nowhere: no chunk is removed before it is added again, or removed`,
  );
}

function chunkPath(directory: string, id: string): string {
  return join(directory, 'default.castr', id.slice(0, 4), `${id}.cacnk`);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

async function namesIn(directory: string): Promise<readonly string[]> {
  return (await unlessMissing(readdir(directory))) ?? [];
}

async function remove(path: string): Promise<void> {
  await writing(path, () => rm(path, { force: true }));
}

async function writing(path: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (cause) {
    throw new AppError('forbidden', `remove ${path}: the conductor's user may not write there`, { cause });
  }
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ENOENT', 'ELOOP', 'ENAMETOOLONG'].includes(String(error.code));
}
