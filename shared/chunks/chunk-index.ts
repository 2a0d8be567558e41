import { createHash } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';

/** A piece of the image; offset and length in bytes. */
export interface Chunk {
  readonly offset: number;
  readonly length: number;
  /** Hex digest of its content, unpacked. */
  readonly id: string;
}

/** In bytes. */
export interface ChunkSizes {
  readonly min: number;
  readonly avg: number;
  readonly max: number;
}

/** The list of an image's chunks, as casync and desync write it: `NAME.caibx`. */
export interface ChunkIndex {
  readonly imageBytes: number;
  readonly digest: 'sha256' | 'sha512-256';
  /** The sizes that it was cut to; the last chunk may be smaller than `min`. */
  readonly sizes: ChunkSizes;
  /** In the image's order, without gaps. */
  readonly chunks: readonly Chunk[];
}

const headerBytes = 64;
const itemBytes = 40;
const tailBytes = 40;
const indexType = 0x96824d9c7b129ff9n;
const tableType = 0xe75b9e112f17417dn;
const tailMark = 0x4b4f050e5549ecd1n;
const sha512Flag = 0x2000000000000000n;
/** casync's default for the largest chunk is 256 KiB; several are in memory at once. */
const mostChunkBytes = 4 * 1024 * 1024;

/** Returns whether the file that begins so is a chunk index. */
export function isChunkIndex(head: Buffer): boolean {
  return head.length >= 16 && head.readBigUInt64LE(0) === 48n && head.readBigUInt64LE(8) === indexType;
}

/**
 * Reads an index (all integers little-endian, of 64 bits): header, table of end offsets and ids, tail.
 * @throws AppError `image_error` when it is damaged, `not_supported` when its chunks are too large.
 */
export function parseChunkIndex(file: Buffer): ChunkIndex {
  const count = (file.length - headerBytes - tailBytes) / itemBytes;
  if (!isChunkIndex(file) || !Number.isInteger(count) || count < 0) throw damaged('it is cut short');
  const tableBytes = BigInt(file.length - 48);
  const frame = [48, 56, -40, -32, -24, -16, -8].map((at) => file.readBigUInt64LE(at < 0 ? file.length + at : at));
  const expected = [2n ** 64n - 1n, tableType, 0n, 0n, 48n, tableBytes, tailMark];
  if (frame.some((value, index) => value !== expected[index]))
    throw damaged('its table has no proper beginning or end');
  const [min, avg, max] = [24, 32, 40].map((at) => Number(file.readBigUInt64LE(at))) as [number, number, number];
  if (max > mostChunkBytes) {
    throw new AppError(
      'not_supported',
      `the image's chunks are of up to ${max} bytes: ${mostChunkBytes} is the most (casync make --chunk-size)`,
    );
  }
  const chunks: Chunk[] = [];
  let offset = 0;
  for (let at = headerBytes; at < file.length - tailBytes; at += itemBytes) {
    const length = Number(file.readBigUInt64LE(at)) - offset;
    if (length <= 0 || length > max) throw damaged(`the chunk at byte ${offset} has ${length} bytes`);
    chunks.push({ offset, length, id: file.toString('hex', at + 8, at + itemBytes) });
    offset += length;
  }
  const digest = (file.readBigUInt64LE(16) & sha512Flag) === 0n ? 'sha256' : 'sha512-256';
  return { imageBytes: offset, digest, sizes: { min, avg, max }, chunks };
}

/** Encodes the index as a file, as desync writes it: casync's flags besides are of archives, not of images. */
export function encodeChunkIndex({ digest, sizes, chunks }: ChunkIndex): Buffer {
  const file = Buffer.alloc(headerBytes + itemBytes * chunks.length + tailBytes);
  const flags = 0x8000000000000000n | (digest === 'sha256' ? 0n : sha512Flag);
  const header = [48n, indexType, flags, ...[sizes.min, sizes.avg, sizes.max].map(BigInt), 2n ** 64n - 1n, tableType];
  for (const [at, value] of header.entries()) file.writeBigUInt64LE(value, 8 * at);
  for (const [at, { offset, length, id }] of chunks.entries()) {
    file.writeBigUInt64LE(BigInt(offset + length), headerBytes + itemBytes * at);
    file.write(id, headerBytes + itemBytes * at + 8, 'hex');
  }
  for (const [at, value] of [48n, BigInt(file.length - 48), tailMark].entries()) {
    file.writeBigUInt64LE(value, file.length - 24 + 8 * at);
  }
  return file;
}

export function chunkId(bytes: Uint8Array, digest: ChunkIndex['digest']): string {
  return createHash(digest).update(bytes).digest('hex');
}

/** Returns how long it may be packed: what doesn't shrink gets a little longer by its frame (RFC 8878 §3.1.1). */
export function packedLimit({ length }: Pick<Chunk, 'length'>): number {
  return length + 64 * 1024;
}

/** Computes the id of the largest chunk of zeros: a long hole is cut into these. */
export function zeroChunkId({ sizes, digest }: Pick<ChunkIndex, 'sizes' | 'digest'>): string {
  return chunkId(new Uint8Array(sizes.max), digest);
}

function damaged(what: string): AppError {
  return new AppError('image_error', `the image's chunk index is damaged: ${what}`);
}
