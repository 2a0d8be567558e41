import { seedOf, serverRequests, type Want } from '#agent/image/neighbours/choose-requests.ts';
import type { SuppliedChunk } from '#agent/image/neighbours/chunk-supply.ts';
import type { PackedStore } from '#agent/image/neighbours/packed-store.ts';
import type { ChunkInMemory } from '#agent/image/one-chunk/chunk-memory.ts';
import type { Chunk } from '#shared/chunks/chunk-index.ts';

/** Chunks that are asked for before their turn, where there are neighbours. */
const windowChunks = 512;
/** Bytes of chunks before their turn, packed. */
const aheadBytes = 36 * 1024 * 1024;
/** The first so many are due: the write waits for them. */
const dueChunks = 2;

/** A chunk that is asked for, or will be. */
export interface Wanted extends Want {
  readonly chunk: Chunk;
  readonly asked: { server: boolean; members: number };
  readonly tried: Set<string>;
  /** Members that are asked for it now. */
  readonly awaits: Set<string>;
  dueSince: number | undefined;
  readonly requests: Set<AbortController>;
  /** Resolves when it is here. */
  readonly arrival: PromiseWithResolvers<Pick<SuppliedChunk, 'sentBytes' | 'from'>>;
  isHere: boolean;
  /** Somebody got it: it counts once. */
  isTaken: boolean;
  failure?: unknown;
  /** Where somebody waited for it. */
  unpacked?: ChunkInMemory | undefined;
}

/** Chunks to be had, in the order in which they are written. */
export interface WantedChunks {
  /** Behind those that were expected before. */
  expect(chunks: readonly Chunk[]): void;
  /** Somebody waits for it: it comes before those that are only expected. */
  await(chunk: Chunk): Wanted;
  isAwaited(id: string): boolean;
  /** It was taken, or given up. */
  leave(chunk: Chunk): void;
  find(id: string): Wanted | undefined;
  all(): Iterable<Wanted>;
  /** Lists the chunks to be asked for now. @param now in milliseconds */
  open(isAlone: boolean, now: number): readonly Wanted[];
}

/**
 * @param numbers of chunks in the image, by id
 * @param mostAhead in bytes; those that somebody waits for are open beyond it, too, or the write would never go on
 */
export function createWantedChunks(
  numbers: ReadonlyMap<string, number>,
  packed: PackedStore,
  mostAhead = aheadBytes,
): WantedChunks {
  const line = createLine();
  const awaited = new Map<string, Chunk>();
  /** Chunks in the window, and those that somebody waits for. */
  const wanted = new Map<string, Wanted>();
  const enter = (chunk: Chunk): Wanted => {
    const known = wanted.get(chunk.id);
    if (known) return known;
    const fresh = makeWanted(chunk, numbers.get(chunk.id) ?? 0);
    wanted.set(chunk.id, fresh);
    const sent = packed.get(chunk.id);
    if (sent) {
      // the image has it more than once
      Object.assign(fresh, { isHere: true, isTaken: true });
      fresh.arrival.resolve({ sentBytes: sent.length, from: 'fetched' });
    }
    return fresh;
  };
  return {
    expect: (chunks) => line.add(chunks),
    await: (chunk) => {
      line.pass(chunk);
      awaited.set(chunk.id, chunk);
      return enter(chunk);
    },
    isAwaited: (id) => awaited.has(id),
    leave: ({ id }) => {
      awaited.delete(id);
      wanted.delete(id);
    },
    find: (id) => wanted.get(id),
    all: () => wanted.values(),
    open: (isAlone, now) => {
      const open: Wanted[] = [];
      let place = 0;
      let bytes = packed.aheadBytes();
      for (const chunk of inTurn(awaited, line.rest())) {
        if (place >= (isAlone ? serverRequests : windowChunks)) break;
        if (bytes >= mostAhead && place >= awaited.size) break;
        const each = enter(chunk);
        place += 1;
        if (each.isHere || each.failure !== undefined) continue;
        if (open.length < dueChunks) each.dueSince ??= now;
        bytes += chunk.length;
        open.push(each);
      }
      return open;
    },
  };
}

/** Each id once. */
function* inTurn(awaited: ReadonlyMap<string, Chunk>, line: Iterable<Chunk>): Generator<Chunk> {
  yield* awaited.values();
  const seen = new Set<string>();
  for (const chunk of line) {
    if (awaited.has(chunk.id) || seen.has(chunk.id)) continue;
    seen.add(chunk.id);
    yield chunk;
  }
}

/** Chunks in the image's order: a place in their list, as an image may have hundreds of thousands. */
function createLine(): { add(chunks: readonly Chunk[]): void; pass(chunk: Chunk): void; rest(): Generator<Chunk> } {
  let chunks: readonly Chunk[] = [];
  let next = 0;
  /** Offsets of those that were passed before their turn: a few, as those before them wait for the disk. */
  const early = new Set<number>();
  return {
    add: (more) => {
      const rest = chunks.slice(next);
      chunks = rest.length === 0 ? more : [...rest, ...more];
      next = 0;
    },
    pass: ({ offset }) => {
      early.add(offset);
      while (early.has(chunks[next]?.offset ?? -1)) next += 1;
      const reached = chunks[next]?.offset ?? Infinity;
      for (const each of early) if (each < reached) early.delete(each);
    },
    *rest() {
      for (let at = next; at < chunks.length; at += 1) {
        const chunk = chunks[at] as Chunk;
        if (!early.has(chunk.offset)) yield chunk;
      }
    },
  };
}

function makeWanted(chunk: Chunk, at: number): Wanted {
  const arrival: Wanted['arrival'] = Promise.withResolvers();
  arrival.promise.catch(() => undefined); // thrown to who asks for it
  return {
    chunk,
    at,
    seed: seedOf(chunk.id),
    asked: { server: false, members: 0 },
    tried: new Set(),
    awaits: new Set(),
    dueSince: undefined,
    requests: new Set(),
    arrival,
    isHere: false,
    isTaken: false,
  };
}
