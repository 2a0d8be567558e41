import type { ChunkInMemory, ChunkMemory } from '#agent/image/one-chunk/chunk-memory.ts';
import { type FetchOptions, fetchChunk } from '#agent/image/one-chunk/fetch-chunk.ts';
import type { Chunk } from '#shared/chunks/chunk-index.ts';

export interface SuppliedChunk extends ChunkInMemory {
  /** Bytes as sent, packed. */
  readonly sentBytes: number;
  readonly from: 'fetched' | 'neighbours';
}

/** Where the chunks come from that the disk does not have. */
export interface ChunkSupply {
  /** These will be asked for, in this order: some of them are fetched before. */
  expect(chunks: readonly Chunk[]): void;
  /** @throws AppError as `fetchChunk` */
  obtain(chunk: Chunk, signal: AbortSignal): Promise<SuppliedChunk>;
  /** The chunks before this one of the image are on the disk, by its path, or on their way to it. */
  reach(at: number, disk: string): void;
  /** Fetches nothing more; what is on the disk may be offered still. */
  close(): void;
}

/** From the image's server alone. */
export function supplyFromServer(memory: ChunkMemory, options: FetchOptions, stopped: AbortSignal): ChunkSupply {
  return {
    expect: () => undefined,
    obtain: async (chunk, signal) => {
      const fetched = await fetchChunk(chunk, memory, options, AbortSignal.any([signal, stopped]));
      return { ...fetched, sentBytes: fetched.packed.length, from: 'fetched' };
    },
    reach: () => undefined,
    close: () => undefined,
  };
}
