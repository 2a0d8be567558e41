import { createHash } from 'node:crypto';
import { chown, mkdir, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Chunk, type ChunkIndex, type ChunkSizes, chunkId, encodeChunkIndex } from '#shared/chunks/chunk-index.ts';
import { packChunk } from '#shared/chunks/pack-chunk.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The file systems' block: what moves in an image moves by these, and disks write no less. */
export const blockBytes = 4096;
/** casync's default for these is a quarter of each: four times the requests, for one per cent fewer bytes. */
export const chunkSizes: ChunkSizes = { min: 64 * 1024, avg: 256 * 1024, max: 1024 * 1024 };

const zeroBlock = crc32(new Uint8Array(blockBytes));

/**
 * Cuts by content: of the same bytes come the same chunks, wherever they lie. A chunk ends behind a block whose CRC-32
 * says so, once it has `min` bytes, and at `max` at the latest. Blocks of zeros end none: all of a hole's chunks but
 * the last are of `max` bytes.
 * @returns takes the next block; whether the chunk ends behind it
 */
export function createCutter({ min, avg, max }: ChunkSizes): (block: Uint8Array) => boolean {
  const one = (avg - min) / blockBytes;
  let length = 0;
  return (block) => {
    length += block.length;
    const crc = crc32(block);
    const ends = length >= max || (length >= min && crc !== zeroBlock && crc % one === one - 1);
    if (ends) length = 0;
    return ends;
  };
}

/** Returns whether `createCutter` may have made the chunks: cuts at blocks only, and sizes that it can cut to. */
export function isCutAtBlocks({ chunks, sizes: { min, avg, max } }: ChunkIndex): boolean {
  const sizes = [min, avg, max];
  const wholeBlocks = sizes.every((size) => size >= blockBytes && size % blockBytes === 0);
  return wholeBlocks && min < avg && avg < max && chunks.every(({ offset }) => offset % blockBytes === 0);
}

export interface StoredImage {
  /** The index's path, `FOLDER/NAME.caibx`. */
  readonly index: string;
  /** Hex digest of the index: what a deploy names as the image's checksum. */
  readonly sha256: string;
  readonly imageBytes: number;
  readonly chunks: number;
  /** Chunks that the store did not have yet, and their bytes as stored. */
  readonly newChunks: number;
  readonly newBytes: number;
}

/** Not casync's default, SHA-512/256: what has instructions for SHA-256, servers since about 2020, takes half its time. */
const digest = 'sha256';
const packedAtOnce = 4;

/**
 * Cuts a raw image into `FOLDER/default.castr` and writes its index, `FOLDER/NAME.caibx`, as casync and desync read
 * them. Of the same bytes come the same files. Chunks that are there stay; a file is there whole or not at all, the
 * index last, so what broke off can be run again. Root gives what it makes to the folder's owner, whose service has to
 * be able to remove it.
 * @throws AppError `image_error` for an empty image; what reading and writing throw
 */
export async function writeStore(image: AsyncIterable<Uint8Array>, folder: string, name: string): Promise<StoredImage> {
  const chunks: Chunk[] = [];
  const added = { chunks: 0, bytes: 0 };
  let packing: Promise<number>[] = [];
  const settle = async (): Promise<void> => {
    const sizes = await Promise.all(packing);
    packing = [];
    added.chunks += sizes.filter((bytes) => bytes > 0).length;
    added.bytes += sizes.reduce((sum, bytes) => sum + bytes, 0);
  };
  const seen = new Set<string>();
  const owner = await ownerToBe(folder);
  let offset = 0;
  try {
    for await (const bytes of cutAll(image)) {
      const id = chunkId(bytes, digest);
      chunks.push({ offset, length: bytes.length, id });
      offset += bytes.length;
      if (seen.has(id)) continue;
      seen.add(id);
      const adding = addChunk(join(folder, 'default.castr'), { id, bytes, owner });
      adding.catch(() => undefined); // thrown by `settle`, or something else was thrown before
      packing.push(adding);
      if (packing.length === packedAtOnce) await settle();
    }
    await settle();
  } finally {
    await Promise.allSettled(packing); // after a failure too, nothing is written behind the caller's back
  }
  if (offset === 0) throw new AppError('image_error', 'the image is empty');
  const index = encodeChunkIndex({ imageBytes: offset, digest, sizes: chunkSizes, chunks });
  await writeWhole(join(folder, `${name}.caibx`), index, owner);
  const sha256 = createHash('sha256').update(index).digest('hex');
  const stored = { imageBytes: offset, chunks: chunks.length, newChunks: added.chunks, newBytes: added.bytes };
  return { index: join(folder, `${name}.caibx`), sha256, ...stored };
}

/** Cuts chunks, each in memory of its own: it is compressed while the next is cut. */
async function* cutAll(image: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const cut = createCutter(chunkSizes);
  let into = Buffer.allocUnsafeSlow(chunkSizes.max);
  let length = 0;
  for await (const piece of image) {
    for (let from = 0; from < piece.length; ) {
      const taken = Math.min(blockBytes - (length % blockBytes), piece.length - from);
      into.set(piece.subarray(from, from + taken), length);
      from += taken;
      length += taken;
      if (length % blockBytes !== 0 || !cut(into.subarray(length - blockBytes, length))) continue;
      yield into.subarray(0, length);
      into = Buffer.allocUnsafeSlow(chunkSizes.max);
      length = 0;
    }
  }
  if (length > 0) yield into.subarray(0, length);
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Finds whom root gives files to; a folder that is not there yet becomes root's own. */
async function ownerToBe(folder: string): Promise<Owner | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  return stat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

interface NewChunk {
  readonly id: string;
  readonly bytes: Uint8Array;
  readonly owner: Owner | undefined;
}

/** @returns the bytes it takes; 0 when it was there */
async function addChunk(store: string, { id, bytes, owner }: NewChunk): Promise<number> {
  const folder = join(store, id.slice(0, 4));
  const path = join(folder, `${id}.cacnk`);
  // it is young again: unused chunks are removed by their age, and one that is being removed is there no more then
  const now = new Date();
  const isThere = await utimes(path, now, now)
    .then(() => stat(path))
    .then(
      () => true,
      () => false,
    );
  if (isThere) return 0;
  const packed = await packChunk(bytes, 3);
  const made = await mkdir(folder, { recursive: true });
  // the store with its first chunk
  if (made !== undefined && owner) for (const each of new Set([made, folder])) await chown(each, owner.uid, owner.gid);
  await writeWhole(path, packed, owner);
  return packed.length;
}

async function writeWhole(path: string, bytes: Uint8Array, owner: Owner | undefined): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  await writeFile(part, bytes, { mode: 0o444, flush: true });
  if (owner) await chown(part, owner.uid, owner.gid);
  await rename(part, path);
}
