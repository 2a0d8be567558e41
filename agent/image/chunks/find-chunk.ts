import { type Chunk, type ChunkIndex, chunkId } from '#agent/image/chunks/chunk-index.ts';
import type { Disk } from '#agent/image/disk.ts';
import { createSlotPool } from '#agent/image/slot-pool.ts';

/** A chunk that the disk holds already; its buffer is freed by `release`. */
export interface FoundChunk {
  readonly bytes: Uint8Array;
  readonly release: () => void;
}

const pageBytes = 64 * 1024;
/** So many chunks are looked at before it is judged whether looking is worth the disk's time. */
const sampleChunks = 64;
const leastFound = 0.05;

/**
 * Looks whether the disk holds a chunk at its place, as after an earlier deploy of the image or a write that broke off.
 * Where next to none of the first chunks is there, it looks no further.
 * @param atOnce how many look-ups and found chunks there are at most at a time
 */
export function createChunkFinder(
  disk: Disk,
  { digest, maxChunkBytes }: ChunkIndex,
  atOnce: number,
  signal: AbortSignal,
): (chunk: Chunk) => Promise<FoundChunk | undefined> {
  const bytesEach = Math.ceil((maxChunkBytes + 2 * disk.sectorBytes) / pageBytes) * pageBytes;
  const pool = createSlotPool(atOnce, signal, bytesEach);
  const count = { looked: 0, found: 0 };
  return async (chunk) => {
    if (count.looked >= sampleChunks && count.found < count.looked * leastFound) return undefined;
    const slot = await pool.acquire();
    // direct I/O reads whole sectors
    const skipped = chunk.offset % disk.sectorBytes;
    const length = Math.ceil((skipped + chunk.length) / disk.sectorBytes) * disk.sectorBytes;
    // a read error counts as not found: writing the chunk makes the disk remap a bad sector, or fails and is reported
    const read = await disk.handle.read(slot.bytes, 0, length, chunk.offset - skipped).catch(() => undefined);
    const bytes = slot.bytes.subarray(skipped, skipped + chunk.length);
    count.looked += 1;
    if (read?.bytesRead === length && chunkId(bytes, digest) === chunk.id) {
      count.found += 1;
      return { bytes, release: () => slot.release() };
    }
    slot.release();
    return undefined;
  };
}
