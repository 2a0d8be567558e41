import type { Survey } from '#agent/image/chunks/survey-disk.ts';
import { slotBytes } from '#agent/image/decode/slot-pool.ts';
import { type Chunk, type ChunkIndex, zeroChunkId } from '#shared/chunks/chunk-index.ts';

/** Where a chunk's bytes come from; offsets in bytes of the disk. */
export type Source =
  /** They are in place; `reads` where others of the same MiB are not, which is written as a whole. */
  | { readonly kind: 'kept'; readonly reads: boolean }
  | { readonly kind: 'zeros' }
  /** Nothing is written there before this chunk is. */
  | { readonly kind: 'copied'; readonly from: number }
  /** They are in memory: their place is written before this chunk's. */
  | { readonly kind: 'held'; readonly isLast: boolean }
  | { readonly kind: 'fetched' };

export interface PlannedChunk {
  readonly chunk: Chunk;
  readonly source: Source;
  /** To be read into memory before this chunk is written: it, or what precedes it, goes over them. */
  readonly holdFirst: readonly Held[];
}

export interface Held {
  readonly chunk: Chunk;
  readonly from: number;
}

/**
 * Decides for each chunk where it comes from when all are written in their order. A chunk whose place on the disk is
 * written before its turn is held in memory from then on, as long as `heldBytes` reach; beyond, it is fetched. So no
 * order has to be found among chunks that change places, and what is held is bounded.
 * @param fromIndex the chunks before are on their way already; they are left out
 */
export function planSources(
  index: ChunkIndex,
  { inPlace, elsewhere }: Survey,
  fromIndex: number,
  heldBytes: number,
): readonly PlannedChunk[] {
  const zeroId = zeroChunkId(index);
  const kept = (chunk: Chunk, at: number): boolean => at >= fromIndex && inPlace.has(chunk);
  const rewritten = new Set<number>();
  for (const [at, chunk] of index.chunks.entries()) {
    if (!kept(chunk, at)) for (const slot of slotsOf(chunk)) rewritten.add(slot);
  }
  const sourceOf = (chunk: Chunk, at: number): Source | Held => {
    if (kept(chunk, at)) return { kind: 'kept', reads: slotsOf(chunk).some((slot) => rewritten.has(slot)) };
    if (chunk.id === zeroId) return { kind: 'zeros' };
    const place = elsewhere.get(chunk.id);
    if (place === undefined) return { kind: 'fetched' };
    const isSafe = place.stays || place.offset >= chunk.offset;
    return isSafe ? { kind: 'copied', from: place.offset } : { chunk, from: place.offset };
  };
  const sources = index.chunks.slice(fromIndex).map((chunk, at) => sourceOf(chunk, fromIndex + at));
  return hold(index.chunks.slice(fromIndex), sources, heldBytes);
}

function hold(
  chunks: readonly Chunk[],
  sources: readonly (Source | Held)[],
  heldBytes: number,
): readonly PlannedChunk[] {
  const lastUse = new Map<string, Chunk>();
  const places = new Map<string, Held>();
  for (const source of sources) {
    if ('kind' in source) continue;
    lastUse.set(source.chunk.id, source.chunk);
    places.set(source.chunk.id, source);
  }
  const due = [...places.values()].sort((a, b) => a.from - b.from);
  const held = new Set<string>();
  let bytes = 0;
  let next = 0;
  return chunks.map((chunk, at) => {
    const holdFirst: Held[] = [];
    for (; (due[next]?.from ?? Infinity) < chunk.offset + chunk.length; next += 1) {
      const place = due[next] as Held;
      if (bytes + place.chunk.length > heldBytes) continue;
      bytes += place.chunk.length;
      held.add(place.chunk.id);
      holdFirst.push(place);
    }
    const source = sources[at] as Source | Held;
    if ('kind' in source) return { chunk, source, holdFirst };
    if (!held.has(chunk.id)) return { chunk, source: { kind: 'fetched' }, holdFirst };
    const isLast = lastUse.get(chunk.id) === chunk;
    if (isLast) bytes -= chunk.length;
    return { chunk, source: { kind: 'held', isLast }, holdFirst };
  });
}

/** The numbers of the MiB that it reaches into. */
function slotsOf({ offset, length }: Chunk): readonly number[] {
  const first = Math.floor(offset / slotBytes);
  return Array.from({ length: Math.ceil((offset + length) / slotBytes) - first }, (_, at) => first + at);
}
