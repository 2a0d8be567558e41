import type { Disk } from '#agent/image/disk.ts';
import { createSlotPool } from '#agent/image/slot-pool.ts';
import { type Chunk, type ChunkIndex, chunkId } from '#shared/chunks/chunk-index.ts';

/** What lies on the disk at `offset`, as far as it is this chunk: `undefined` when it is not, or can't be read. */
export type ReadChunk = (chunk: Chunk, offset: number) => Promise<Uint8Array | undefined>;

export interface ChunkReader {
  readonly holds: (chunk: Chunk, offset: number) => Promise<boolean>;
  readonly read: ReadChunk;
}

const pageBytes = 64 * 1024;

/** @param atOnce how many chunks are read at most at a time; others wait */
export function createChunkReader(
  disk: Disk,
  { digest, sizes }: ChunkIndex,
  atOnce: number,
  signal: AbortSignal,
): ChunkReader {
  const bytesEach = Math.ceil((sizes.max + 2 * disk.sectorBytes) / pageBytes) * pageBytes;
  const pool = createSlotPool(atOnce, signal, bytesEach);
  const look = async <T>(chunk: Chunk, offset: number, found: (bytes: Buffer) => T): Promise<T | undefined> => {
    const slot = await pool.acquire();
    // direct I/O reads whole sectors
    const skipped = offset % disk.sectorBytes;
    const length = Math.ceil((skipped + chunk.length) / disk.sectorBytes) * disk.sectorBytes;
    // a read error counts as not found: writing the chunk makes the disk remap a bad sector, or fails and is reported
    const read = await disk.handle.read(slot.bytes, 0, length, offset - skipped).catch(() => undefined);
    const bytes = slot.bytes.subarray(skipped, skipped + chunk.length);
    const result = read?.bytesRead === length && chunkId(bytes, digest) === chunk.id ? found(bytes) : undefined;
    slot.release();
    return result;
  };
  return {
    holds: async (chunk, offset) => (await look(chunk, offset, () => true)) ?? false,
    read: (chunk, offset) => look(chunk, offset, (bytes) => Buffer.from(bytes)),
  };
}
