import type { KeptConnections } from '#agent/image/fetch/connection.ts';
import { readAll } from '#agent/image/fetch/fetch-small.ts';
import { type HttpAnswer, httpGet } from '#agent/image/fetch/http-body.ts';
import { hedgeAfter, seedOf } from '#agent/image/neighbours/choose-requests.ts';
import { doneHeader, waitHeader } from '#agent/image/neighbours/serve-chunks.ts';
import type { PeerQuestion, Peers } from '#agent/image-means/image-share.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { peerLimits } from '#shared/peers/peer-limits.ts';
import type { Neighbour } from '#shared/wire/neighbours.ts';

/** More are not kept: a few are enough, and each costs a connection both ways. */
const mostPeers = 32;
const firstRestMs = 2000;
const mostRests = 6;
/** Chunks that a neighbour has to send after it has failed, twice as many each time. */
const penance = { first: 4, most: 64 };
const busyMs = 500;
const greetMs = 2000;
/** Answers without a chunk that a neighbour was to have, in a row: then it has failed. */
const mostEmpty = 4;
/**
 * For a chunk to come, beyond the time for which a neighbour may wait for it itself: several times what it takes lately.
 * Who waits for the chunk asks the server meanwhile; a connection that is given up costs both sides another handshake.
 */
const sendMs = { least: 1500, first: 4000, most: 12_000, ofMean: 4 };
/** Factor on what a chunk takes lately: beyond the time for which a neighbour may wait for it, it is late. */
const lateByMeans = 2;
/** A neighbour that was not asked for anything for so long is asked how far it is. */
const quietMs = 4000;

interface Peer extends Neighbour {
  readonly seed: number;
  done: number;
  /** Requests to it under way, and when each is late. */
  readonly asked: Set<{ readonly lateAt: number }>;
  /** Above 0 it is known to send in time, below 0 it has failed. */
  trust: number;
  falls: number;
  failures: number;
  empty: number;
  /** Not asked before then; `Infinity`: never again. */
  restsUntil: number;
  heardAt: number;
  greeting: boolean;
}

export interface PeersOptions {
  readonly self: () => string;
  readonly ticket: () => string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly onChange: () => void;
}

interface Asking extends PeersOptions {
  readonly kept: KeptConnections;
  readonly closed: AbortSignal;
  readonly pace: { chunkMs: number | undefined };
}

export function createPeers(options: PeersOptions): Peers {
  const { self, clock } = options;
  const peers = new Map<string, Peer>();
  const closed = new AbortController();
  const asking: Asking = { ...options, kept: new Map(), closed: closed.signal, pace: { chunkMs: undefined } };
  const now = (): number => clock.now().getTime();
  const add = (neighbour: Neighbour): void => {
    if (neighbour.id === self() || isSame(peers.get(neighbour.id), neighbour)) return;
    peers.delete(neighbour.id);
    makeRoom(peers);
    if (peers.size >= mostPeers) return;
    const fresh = {
      done: 0,
      asked: new Set<{ readonly lateAt: number }>(),
      trust: 0,
      falls: 0,
      failures: 0,
      empty: 0,
      restsUntil: 0,
      heardAt: 0,
      greeting: false,
    };
    const peer = { ...neighbour, seed: seedOf(neighbour.id), ...fresh };
    peers.set(neighbour.id, peer);
    void greetPeer(asking, peer);
  };
  return {
    // those that have not answered yet are none
    members: () =>
      [...peers.values()]
        .filter(({ heardAt, restsUntil }) => heardAt > 0 && restsUntil <= now())
        .map(({ id, seed, done, asked, trust }) => {
          const isLate = [...asked].some(({ lateAt }) => lateAt < performance.now());
          return { id, seed, done, busy: asked.size, known: trust > 0 && !isLate, doubtful: trust < 0 || isLate };
        }),
    unheard: () => [...peers.values()].filter(({ heardAt, failures }) => heardAt === 0 && failures === 0).length,
    add,
    meet: (neighbour) => {
      if (!peers.has(neighbour.id)) add(neighbour);
    },
    ask: async (question) => {
      const peer = peers.get(question.member);
      return peer ? askPeerForChunk(asking, peer, question) : 'not here';
    },
    greet: async () => {
      const quiet = [...peers.values()].filter(
        ({ greeting, asked, restsUntil, heardAt }) =>
          !greeting && asked.size === 0 && restsUntil <= now() && now() - heardAt > quietMs,
      );
      await Promise.all(quiet.map((peer) => greetPeer(asking, peer)));
    },
    chunkMs: () => asking.pace.chunkMs,
    close: () => {
      closed.abort();
      for (const connection of [...asking.kept.values()].flat()) connection.close();
    },
  };
}

function isSame(known: Neighbour | undefined, { url, certificate_sha256: certificate }: Neighbour): boolean {
  return known?.url === url && known.certificate_sha256 === certificate;
}

/** One that is never asked again makes room for another. */
function makeRoom(peers: Map<string, Peer>): void {
  if (peers.size < mostPeers) return;
  const gone = [...peers.values()].find(({ restsUntil }) => restsUntil === Infinity);
  if (gone) peers.delete(gone.id);
}

async function greetPeer(asking: Asking, peer: Peer): Promise<void> {
  peer.greeting = true;
  try {
    const answer = await get(asking, peer, { path: '/', waitMs: 0, timeoutMs: greetMs });
    answer.close();
    if (answer.status !== 204) throw new AppError('unavailable', `it answered ${answer.status}`);
  } catch (error) {
    if (!asking.closed.aborted) fail(asking, peer, error);
  } finally {
    peer.greeting = false;
    asking.onChange();
  }
}

async function askPeerForChunk(asking: Asking, peer: Peer, question: PeerQuestion): ReturnType<Peers['ask']> {
  const { signal, serverMs } = question;
  const began = performance.now();
  const asked = { lateAt: began + hedgeAfter(serverMs) + lateByMeans * (asking.pace.chunkMs ?? 0) };
  peer.asked.add(asked);
  try {
    const answer = await takeChunk(asking, peer, question);
    if (answer !== 'sent') return answer;
    asking.pace.chunkMs = smoothedMean(asking.pace.chunkMs, performance.now() - began);
    Object.assign(peer, { trust: Math.min(1, peer.trust + 1), failures: 0, empty: 0 });
    return answer;
  } catch (error) {
    if (signal.aborted || asking.closed.aborted) throw new AppError('aborted', 'it is not needed any more');
    fail(asking, peer, error);
    throw error;
  } finally {
    peer.asked.delete(asked);
  }
}

async function takeChunk(
  asking: Asking,
  peer: Peer,
  { chunkId, at, serverMs, maxBytes, takes, signal }: PeerQuestion,
): ReturnType<Peers['ask']> {
  const waitMs = hedgeAfter(serverMs);
  const isPromised = peer.done > at;
  const began = performance.now();
  const timeoutMs = waitMs + sendWithin(asking.pace.chunkMs);
  const answer = await get(asking, peer, { path: `/${chunkId}`, waitMs, timeoutMs, signal });
  try {
    if ([404, 425, 503].includes(answer.status)) {
      const isTooSoon = answer.status === 425 && performance.now() - began < waitMs / 2;
      if (isPromised || isTooSoon || answer.status === 503) countEmpty(asking, peer);
      if (answer.status === 503) peer.restsUntil = asking.clock.now().getTime() + busyMs;
      return answer.status === 404 ? 'not here' : 'not yet';
    }
    if (answer.status !== 200) {
      throw new AppError(answer.status === 401 ? 'unavailable' : 'image_error', `it answered ${answer.status}`);
    }
    await takes(await readAll(answer, Math.min(maxBytes, peerLimits.neighbour.bytes)));
    return 'sent';
  } finally {
    answer.close();
  }
}

function sendWithin(chunkMs: number | undefined): number {
  if (chunkMs === undefined) return sendMs.first;
  return Math.min(sendMs.most, Math.max(sendMs.least, Math.round(sendMs.ofMean * chunkMs)));
}

/** One of several requests at a time counts. @throws AppError `unavailable` for one too many */
function countEmpty({ clock }: Asking, peer: Peer): void {
  if (peer.restsUntil > clock.now().getTime()) return;
  peer.empty += 1;
  if (peer.empty > mostEmpty) throw new AppError('unavailable', 'it does not send the chunks that it was to have');
}

interface PeerRequest {
  readonly path: string;
  readonly waitMs: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

async function get(
  { ticket, kept, closed, clock }: Asking,
  peer: Peer,
  { path, waitMs, timeoutMs, signal }: PeerRequest,
): Promise<HttpAnswer> {
  const limit = AbortSignal.timeout(Math.min(timeoutMs, peerLimits.neighbour.timeoutMs));
  const answer = await httpGet(
    new URL(path, peer.url),
    { authorization: `Bearer ${ticket() ?? ''}`, [waitHeader]: String(waitMs) },
    {
      idleTimeoutMs: peerLimits.neighbour.timeoutMs,
      signal: AbortSignal.any([closed, limit, ...(signal === undefined ? [] : [signal])]),
      kept,
      pin: peer.certificate_sha256,
    },
  );
  peer.heardAt = clock.now().getTime();
  const done = answer.headers.get(doneHeader) ?? '';
  if (/^\d{1,9}$/.test(done)) peer.done = Math.max(peer.done, Number(done));
  return answer;
}

function fail({ clock, log }: Asking, peer: Peer, error: unknown): void {
  peer.trust = -Math.min(penance.most, penance.first * 2 ** peer.falls);
  peer.falls += 1;
  peer.failures += 1;
  const isLie = errorCode(error) !== 'unavailable';
  const isGone = isLie || peer.failures > mostRests;
  peer.restsUntil = isGone ? Infinity : clock.now().getTime() + firstRestMs * 2 ** (peer.failures - 1);
  log.warn({ err: error, neighbour: peer.url, isGone }, 'a neighbour failed');
}

/** A mean in which the latest counts a fifth. */
export function smoothedMean(mean: number | undefined, value: number): number {
  return mean === undefined ? value : mean + (value - mean) / 5;
}
