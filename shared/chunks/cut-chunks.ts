import { crc32 } from 'node:zlib';
import type { ChunkIndex, ChunkSizes } from '#shared/chunks/chunk-index.ts';

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

/** Whether `createCutter` may have made the chunks: cuts at blocks only, and sizes that it can cut to. */
export function isCutAtBlocks({ chunks, sizes: { min, avg, max } }: ChunkIndex): boolean {
  const sizes = [min, avg, max];
  const wholeBlocks = sizes.every((size) => size >= blockBytes && size % blockBytes === 0);
  return wholeBlocks && min < avg && avg < max && chunks.every(({ offset }) => offset % blockBytes === 0);
}
