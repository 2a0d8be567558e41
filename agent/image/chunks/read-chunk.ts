import type { Disk } from '#agent/image/disk/disk.ts';
import type { ChunkInMemory, ChunkMemory } from '#agent/image/one-chunk/chunk-memory.ts';
import type { Chunk } from '#shared/chunks/chunk-index.ts';

/**
 * Reads what lies on the disk at `offset`, as far as it is this chunk: `undefined` when it is not, or can't be read.
 */
export type ReadChunk = (chunk: Chunk, offset: number) => Promise<ChunkInMemory | undefined>;

export function createChunkReader(disk: Disk, memory: ChunkMemory): ReadChunk {
  return (chunk, offset) => {
    // direct I/O reads whole sectors
    const skipped = offset % disk.sectorBytes;
    const length = Math.ceil((skipped + chunk.length) / disk.sectorBytes) * disk.sectorBytes;
    return memory.read(chunk, async (into) => {
      // a read error counts as not found: writing the chunk makes the disk remap a bad sector, or fails and is reported
      const read = await disk.handle.read(into, 0, length, offset - skipped).catch(() => undefined);
      return read?.bytesRead === length ? skipped : undefined;
    });
  };
}
