import type { Held, PlannedChunk, Source } from '#agent/image/chunks/plan-sources.ts';
import type { ReadChunk } from '#agent/image/chunks/read-chunk.ts';
import type { ChunkSupply } from '#agent/image/neighbours/chunk-supply.ts';
import type { ChunkIndex } from '#shared/chunks/chunk-index.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface LoadedChunk {
  readonly length: number;
  /** `undefined` where the disk has them and nothing beside them is written. */
  readonly bytes: Uint8Array | undefined;
  readonly from: Exclude<Source['kind'], 'held'> | 'neighbours';
  /** As they were sent, compressed. */
  readonly sentBytes: number;
}

export interface ChunkLoader {
  /** Reads these into memory; again is nothing. */
  readonly hold: (places: readonly Held[]) => Promise<void>;
  /** @throws AppError as the supply; `storage_error` when the disk reads otherwise than before. */
  readonly load: (planned: PlannedChunk, signal: AbortSignal) => Promise<LoadedChunk>;
}

/** What the disk does not give is fetched; all of it is checked by its id. */
export function createChunkLoader({ sizes }: ChunkIndex, read: ReadChunk, supply: ChunkSupply): ChunkLoader {
  const zeros = new Uint8Array(sizes.max);
  /** Set in the order of the loads: the next load may ask before the read has ended. */
  const held = new Map<string, Promise<Uint8Array | undefined>>();
  const hold = async (places: readonly Held[]): Promise<void> => {
    const reads = places.map(({ chunk, from }) => held.get(chunk.id) ?? read(chunk, from));
    for (const [at, { chunk }] of places.entries()) held.set(chunk.id, reads[at] as (typeof reads)[number]);
    await Promise.all(reads);
  };
  const take = (id: string, isLast: boolean): Promise<Uint8Array | undefined> | undefined => {
    const bytes = held.get(id);
    if (isLast) held.delete(id);
    return bytes;
  };
  return {
    hold,
    load: async ({ chunk, source, holdFirst }, signal) => {
      const { length } = chunk;
      const holding = hold(holdFirst);
      const taken = source.kind === 'held' ? take(chunk.id, source.isLast) : undefined;
      await holding;
      if (source.kind === 'zeros') return { length, bytes: zeros.subarray(0, length), from: 'zeros', sentBytes: 0 };
      if (source.kind === 'kept') {
        const bytes = source.reads ? await read(chunk, chunk.offset) : undefined;
        if (source.reads && bytes === undefined) {
          throw new AppError(
            'storage_error',
            `the disk read otherwise before at byte ${chunk.offset}: it may be failing`,
          );
        }
        return { length, bytes, from: 'kept', sentBytes: 0 };
      }
      const bytes = await (source.kind === 'copied' ? read(chunk, source.from) : taken);
      if (bytes) return { length, bytes, from: 'copied', sentBytes: 0 };
      return { ...(await supply.obtain(chunk, signal)), length };
    },
  };
}
