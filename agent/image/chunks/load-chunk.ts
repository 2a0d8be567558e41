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
  /** Bytes as they were sent, compressed. */
  readonly sentBytes: number;
  /** Called when they have been used. */
  readonly release: () => void;
}

export interface ChunkLoader {
  /** Reads these into memory; again is nothing. */
  readonly hold: (places: readonly Held[]) => Promise<void>;
  /** @throws AppError as the supply; `storage_error` when the disk reads otherwise than before. */
  readonly load: (planned: PlannedChunk, signal: AbortSignal) => Promise<LoadedChunk>;
}

/** Makes a loader that fetches what the disk does not give; all of it is checked by its id. */
export function createChunkLoader({ sizes }: ChunkIndex, read: ReadChunk, supply: ChunkSupply): ChunkLoader {
  const zeros = new Uint8Array(sizes.max);
  const nothing = (): void => undefined;
  /** Set in the order of the loads: the next load may ask before the read has ended. */
  const held = new Map<string, Promise<Uint8Array | undefined>>();
  const hold = async (places: readonly Held[]): Promise<void> => {
    const copy = async ({ chunk, from }: Held): Promise<Uint8Array | undefined> => {
      const found = await read(chunk, from);
      const bytes = found && Buffer.from(found.bytes);
      found?.release();
      return bytes;
    };
    const reads = places.map((place) => held.get(place.chunk.id) ?? copy(place));
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
      if (source.kind === 'zeros') {
        return { length, bytes: zeros.subarray(0, length), from: 'zeros', sentBytes: 0, release: nothing };
      }
      if (source.kind === 'kept') {
        const found = source.reads ? await read(chunk, chunk.offset) : undefined;
        if (source.reads && found === undefined) {
          throw new AppError(
            'storage_error',
            `the disk read otherwise before at byte ${chunk.offset}: it may be failing`,
          );
        }
        return { length, bytes: found?.bytes, from: 'kept', sentBytes: 0, release: found?.release ?? nothing };
      }
      if (source.kind === 'copied') {
        const found = await read(chunk, source.from);
        if (found) return { ...found, length, from: 'copied', sentBytes: 0 };
      }
      const bytes = await taken;
      if (bytes) return { length, bytes, from: 'copied', sentBytes: 0, release: nothing };
      return { ...(await supply.obtain(chunk, signal)), length };
    },
  };
}
