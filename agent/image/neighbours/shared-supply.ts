import { EventEmitter, once } from 'node:events';
import { slotBytes } from '#agent/image/decode/slot-pool.ts';
import {
  type ChunkRequest,
  chooseRequests,
  chunksAhead,
  ownerOf,
  seedOf,
} from '#agent/image/neighbours/choose-requests.ts';
import { type ChunkSupply, type SuppliedChunk, supplyFromServer } from '#agent/image/neighbours/chunk-supply.ts';
import { createPackedStore, type PackedStore } from '#agent/image/neighbours/packed-store.ts';
import { smoothedMean } from '#agent/image/neighbours/peers.ts';
import { readBack } from '#agent/image/neighbours/read-back.ts';
import { createWantedChunks, type Wanted, type WantedChunks } from '#agent/image/neighbours/wanted-chunks.ts';
import type { ChunkInMemory, ChunkMemory, UnpackedChunk } from '#agent/image/one-chunk/chunk-memory.ts';
import { type FetchOptions, fetchChunk } from '#agent/image/one-chunk/fetch-chunk.ts';
import type { Offer, Share } from '#agent/image-means/image-share.ts';
import { type Chunk, type ChunkIndex, packedLimit } from '#shared/chunks/chunk-index.ts';
import { AppError } from '#shared/errors/app-error.ts';

const tickMs = 250;
const lookMs = 10;
/** Bytes of chunks that were written, packed, for those who ask later: others are read back from the disk. */
const usedBytes = 12 * 1024 * 1024;

/** Limit of chunks: of more, what neighbours ask for by id would take too much of a small machine's memory. */
const mostChunks = 500_000;

interface Supplying {
  readonly index: ChunkIndex;
  readonly memory: ChunkMemory;
  readonly share: Share;
  readonly options: FetchOptions;
  readonly stopped: AbortSignal;
  /** Numbers of chunks in the image, by id; of several the first. */
  readonly numbers: ReadonlyMap<string, number>;
  readonly packed: PackedStore;
  readonly wanted: WantedChunks;
  /** Emits the id of each chunk that is here. */
  readonly arrivals: EventEmitter;
  readonly state: {
    done: number;
    disk: string | undefined;
    serverBusy: number;
    serverMs: number | undefined;
    isClosed: boolean;
    isTicking: boolean;
  };
}

/** From neighbours too, where `share` begins a share and the image is not too large for it. */
export function openSupply(
  index: ChunkIndex,
  memory: ChunkMemory,
  share: (() => Share) | undefined,
  options: FetchOptions,
  stopped: AbortSignal,
  most = mostChunks,
): { readonly supply: ChunkSupply; readonly share?: Share } {
  const chunks = index.chunks.length;
  if (share && chunks > most) options.log.info({ chunks, most }, 'the image has too many chunks to be shared');
  if (!share || chunks > most) return { supply: supplyFromServer(memory, options, stopped) };
  const opened = share();
  return { supply: supplyWithNeighbours(index, memory, opened, options, stopped), share: opened };
}

/**
 * From the server and from neighbours, as `chooseRequests` says. What was fetched before its turn is held packed, and
 * unpacked again when its turn comes; what neighbours ask for is found there too, or read back from the disk.
 */
function supplyWithNeighbours(
  index: ChunkIndex,
  memory: ChunkMemory,
  share: Share,
  options: FetchOptions,
  stopped: AbortSignal,
): ChunkSupply {
  const numbers = firstNumbers(index);
  const packed = createPackedStore(() => (share.peers.members().length > 0 ? usedBytes : 0));
  const supplying: Supplying = {
    index,
    memory,
    share,
    options,
    stopped,
    numbers,
    packed,
    wanted: createWantedChunks(numbers, packed),
    arrivals: new EventEmitter().setMaxListeners(0),
    state: { done: 0, disk: undefined, serverBusy: 0, serverMs: undefined, isClosed: false, isTicking: false },
  };
  const { state, wanted } = supplying;
  share.offer({ done: () => state.done, find: (...asked) => findForNeighbour(supplying, ...asked) });
  const unwatch = share.onChange(() => tick(supplying));
  const timer = setInterval(() => tick(supplying), tickMs);
  return {
    expect: (expected) => {
      wanted.expect(expected);
      tick(supplying);
    },
    obtain: (chunk, signal) => obtain(supplying, chunk, signal),
    reach: (at, disk) => {
      Object.assign(state, { done: at, disk });
    },
    close: () => {
      state.isClosed = true;
      clearInterval(timer);
      unwatch();
      for (const { requests } of wanted.all()) for (const request of requests) request.abort();
    },
  };
}

function firstNumbers({ chunks }: ChunkIndex): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const [at, { id }] of chunks.entries()) if (!numbers.has(id)) numbers.set(id, at);
  return numbers;
}

async function obtain(supplying: Supplying, chunk: Chunk, signal: AbortSignal): Promise<SuppliedChunk> {
  const { wanted, packed, stopped } = supplying;
  const entry = wanted.await(chunk);
  tick(supplying);
  const onAbort = (): void => entry.arrival.reject(new AppError('aborted', 'the download was stopped'));
  const ended = AbortSignal.any([signal, stopped]);
  ended.addEventListener('abort', onAbort, { once: true });
  if (ended.aborted) onAbort();
  try {
    const { sentBytes, from } = await entry.arrival.promise;
    const isFirst = !entry.isTaken;
    entry.isTaken = true;
    const unpacked = entry.unpacked ?? (await unpackAgain(supplying, chunk, ended));
    entry.unpacked = undefined;
    return { ...unpacked, sentBytes: isFirst ? sentBytes : 0, from };
  } finally {
    ended.removeEventListener('abort', onAbort);
    wanted.leave(chunk);
    packed.use(chunk.id, chunk.offset < slotBytes);
    tick(supplying);
  }
}

/** Where it came before its turn, or the image has it at another place that took it. */
function unpackAgain(
  { memory, packed, options }: Supplying,
  chunk: Chunk,
  signal: AbortSignal,
): Promise<ChunkInMemory> {
  const sent = packed.get(chunk.id);
  return sent ? memory.unpack(chunk, copyOf(sent)) : fetchChunk(chunk, memory, options, signal);
}

function copyOf(sent: Buffer): (into: Buffer) => Promise<Buffer> {
  return (into) => Promise.resolve(into.subarray(0, sent.copy(into)));
}

/** Looks, soon, what is to be asked for; among neighbours several arrivals are one look. */
function tick(supplying: Supplying): void {
  const { share, wanted, stopped, state } = supplying;
  if (state.isTicking) return;
  state.isTicking = true;
  const later = share.peers.members().length > 0 ? (look: () => void) => setTimeout(look, lookMs) : setImmediate;
  later(() => {
    state.isTicking = false;
    if (state.isClosed || stopped.aborted) return;
    const members = share.peers.members();
    const now = performance.now();
    const requests = chooseRequests({
      now,
      selfSeed: seedOf(share.self()),
      wants: wanted.open(members.length === 0, now),
      members,
      unheard: share.peers.unheard(),
      serverBusy: state.serverBusy,
      serverMs: state.serverMs,
      memberMs: share.peers.chunkMs(),
    });
    for (const request of requests) start(supplying, request);
  });
}

function start(supplying: Supplying, { want: entry, from }: ChunkRequest<Wanted>): void {
  const own = new AbortController();
  const signal = AbortSignal.any([own.signal, supplying.stopped]);
  entry.requests.add(own);
  const asking =
    from === 'server' ? askServer(supplying, entry, own, signal) : askMember(supplying, entry, own, from.member);
  void asking.then(() => {
    entry.requests.delete(own);
    // the server has been asked in vain, as often as it may be, and nobody else has it
    if (!entry.isHere && entry.failure !== undefined && entry.requests.size === 0) entry.arrival.reject(entry.failure);
    tick(supplying);
  });
}

async function askServer(
  supplying: Supplying,
  entry: Wanted,
  own: AbortController,
  signal: AbortSignal,
): Promise<void> {
  const { memory, options, state } = supplying;
  const began = performance.now();
  entry.asked.server = true;
  state.serverBusy += 1;
  try {
    const unpacked = await fetchChunk(entry.chunk, memory, options, signal);
    state.serverMs = smoothedMean(state.serverMs, performance.now() - began);
    arrive(supplying, entry, own, { unpacked, from: 'fetched' });
  } catch (error) {
    entry.failure = error;
  } finally {
    state.serverBusy -= 1;
  }
}

async function askMember(supplying: Supplying, entry: Wanted, own: AbortController, member: string): Promise<void> {
  const { share, memory, options, state, stopped } = supplying;
  const { chunk } = entry;
  entry.asked.members += 1;
  entry.tried.add(member);
  entry.awaits.add(member);
  try {
    const answer = await share.peers.ask({
      member,
      chunkId: chunk.id,
      at: entry.at,
      maxBytes: packedLimit(chunk),
      serverMs: state.serverMs,
      // what comes too late is read all the same: the connection is kept
      signal: stopped,
      takes: async (sent) => {
        if (entry.isHere || state.isClosed) return;
        const unpacked = await memory.unpack(chunk, copyOf(sent));
        arrive(supplying, entry, own, { unpacked, from: 'neighbours' });
      },
    });
    // it is about to have it, and may be asked again
    if (answer === 'not yet') entry.tried.delete(member);
  } catch (error) {
    options.log.debug({ err: error, chunk: chunk.id }, 'a neighbour did not send a chunk');
  } finally {
    entry.asked.members -= 1;
    entry.awaits.delete(member);
  }
}

interface Arrived {
  readonly unpacked: UnpackedChunk;
  readonly from: SuppliedChunk['from'];
}

function arrive(
  { share, packed, wanted, arrivals }: Supplying,
  entry: Wanted,
  own: AbortController,
  { unpacked, from }: Arrived,
): void {
  if (entry.isHere) {
    unpacked.release();
    return;
  }
  entry.isHere = true;
  const { id, offset } = entry.chunk;
  const isAwaited = wanted.isAwaited(id);
  const mayBeAskedFor = share.peers.members().length > 0 || offset < slotBytes;
  if (!isAwaited || mayBeAskedFor) packed.add(id, Buffer.from(unpacked.packed));
  entry.arrival.resolve({ sentBytes: unpacked.packed.length, from });
  // who waits for it releases it
  if (isAwaited) entry.unpacked = unpacked;
  else unpacked.release();
  arrivals.emit(id);
  for (const request of entry.requests) if (request !== own) request.abort();
}

async function findForNeighbour(
  { share, index, stopped, numbers, packed, wanted, arrivals, state }: Supplying,
  ...[id, waitMs, signal]: Parameters<Offer['find']>
): ReturnType<Offer['find']> {
  const here = packed.get(id);
  const at = numbers.get(id);
  if (here || at === undefined) return here;
  if (at < state.done && !wanted.isAwaited(id)) {
    const chunk = index.chunks[at];
    return chunk && state.disk !== undefined ? readBack(state.disk, chunk, index.digest, signal) : undefined;
  }
  const want = { at, seed: seedOf(id), tried: new Set<string>() };
  const isOurs = ownerOf(want, seedOf(share.self()), share.peers.members()) === undefined;
  const isComing = wanted.find(id)?.asked.server ?? false;
  if (state.isClosed || !(isComing || (isOurs && at < state.done + chunksAhead))) return undefined;
  const limit = AbortSignal.any([AbortSignal.timeout(waitMs), stopped, signal]);
  await once(arrivals, id, { signal: limit }).catch(() => undefined);
  return packed.get(id) ?? 'not yet';
}
