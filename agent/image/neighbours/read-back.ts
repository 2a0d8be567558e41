import { open } from 'node:fs/promises';
import { type Chunk, type ChunkIndex, chunkId } from '#shared/chunks/chunk-index.ts';
import { packChunk } from '#shared/chunks/pack-chunk.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';

/** The machine writes to the disk meanwhile. */
const inTurn = limitAtOnce({ most: 4 });

/** Reads a chunk from where it was written and packs it; `undefined` when something else is there by now. @throws the signal's reason */
export function readBack(
  disk: string,
  { offset, length, id }: Chunk,
  digest: ChunkIndex['digest'],
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  return inTurn(async () => {
    const handle = await open(disk, 'r').catch(() => undefined);
    if (!handle) return undefined;
    try {
      const bytes = Buffer.alloc(length);
      const { bytesRead } = await handle.read(bytes, 0, length, offset);
      if (bytesRead !== length || chunkId(bytes, digest) !== id) return undefined;
      return await packChunk(bytes, 1);
    } catch {
      return undefined; // a bad sector: the neighbour asks another
    } finally {
      await handle.close();
    }
  }, signal);
}
