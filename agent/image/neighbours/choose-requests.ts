import type { Member } from '#agent/image-means/image-share.ts';
/** A chunk that this machine lacks. */
export interface Want {
  /** Its number in the image. */
  readonly at: number;
  /** `seedOf` its id. */
  readonly seed: number;
  /** Holders that are asked for it now. */
  readonly asked: { readonly server: boolean; readonly members: number };
  /** Members that were asked for it: once each. */
  readonly tried: ReadonlySet<string>;
  /** Chunks, among these, that are asked for now. */
  readonly awaits: ReadonlySet<string>;
  /** Since when it has been among those that are written next, in milliseconds; `undefined`: it is not yet. */
  readonly dueSince: number | undefined;
}

export type Source = 'server' | { readonly member: string };

export interface Situation<W extends Want = Want> {
  readonly now: number;
  /** `seedOf` this machine's id. */
  readonly selfSeed: number;
  /** In the order in which they are written. */
  readonly wants: readonly W[];
  readonly members: readonly Member[];
  /** Neighbours that have been named and not been heard of yet. */
  readonly unheard: number;
  readonly serverBusy: number;
  /** Milliseconds that a chunk takes lately; `undefined` before the first. */
  readonly serverMs: number | undefined;
  readonly memberMs: number | undefined;
}

export interface ChunkRequest<W extends Want = Want> {
  readonly want: W;
  readonly from: Source;
}

/** Milliseconds for a chunk, of `serverRequests` at a time: a server that is faster is not what holds the write up. */
const fastServerMs = 12;
/** Requests of a machine alone, as many as a download without neighbours has. */
export const serverRequests = 8;
/** Chunks that an owner is asked for at a time: it fetches them one after the other. */
const ownerRequests = 2;
/** Chunks ahead of what it has that a machine may be expected to fetch soon. */
export const chunksAhead = 768;
const leastHedgeMs = 1000;
const mostHedgeMs = 4000;
const unknownServerMs = 700;

/**
 * Decides which chunk is asked for next, and from whom. Pure.
 *
 * What a neighbour has is asked of a neighbour. A chunk that none has is fetched from the server by one of those that
 * are about to need it, the *owner*: all rank themselves by the same digest, so they agree without a word, and the
 * server sends each chunk about once. When a machine leaves, its chunks fall to the next in rank. Nobody waits for
 * long: a chunk that is written next and late is asked of the server besides, and a neighbour that does not send in time
 * is none for a while, or is not relied on.
 */
export function chooseRequests<W extends Want>(situation: Situation<W>): readonly ChunkRequest<W>[] {
  const { now, selfSeed, wants, serverMs } = situation;
  const members = isServerFast(situation) ? [] : situation.members;
  const front = wants[0]?.at ?? 0;
  const near = members.filter(({ done }) => Math.abs(done - front) < chunksAhead);
  const serverLimit = shareOfServer(near.length + situation.unheard);
  const memberLimit = Math.min(8, Math.max(2, Math.ceil(16 / Math.max(1, members.length))));
  const hedgeMs = hedgeAfter(serverMs);
  const reliable = new Set(members.flatMap(({ id, doubtful }) => (doubtful ? [] : [id])));
  const patience = ({ awaits }: W): number =>
    awaits.size === 0 || [...awaits].some((id) => reliable.has(id)) ? hedgeMs : hedgeMs / 2;
  const busy = new Map(members.map(({ id, busy: requests }) => [id, requests]));
  const room = ({ id, known }: Member): boolean => (busy.get(id) ?? 0) < (known ? memberLimit : 1);
  const requests: ChunkRequest<W>[] = [];
  let serverBusy = situation.serverBusy;
  const askServer = (want: W): void => {
    if (serverBusy >= serverLimit || want.asked.server) return;
    serverBusy += 1;
    requests.push({ want, from: 'server' });
  };
  const askMember = (want: W, { id }: Member): void => {
    busy.set(id, (busy.get(id) ?? 0) + 1);
    requests.push({ want, from: { member: id } });
  };

  /** To neighbours that may never send them. */
  const left: W[] = [];
  const hasRoom = (): boolean => serverBusy < serverLimit || members.some(room);
  for (const want of wants) {
    if (!hasRoom()) break;
    const isLate = want.dueSince !== undefined && now - want.dueSince > patience(want);
    if ((want.asked.server || want.asked.members > 0) && !isLate) {
      if (want.awaits.size > 0 && ![...want.awaits].some((id) => reliable.has(id))) left.push(want);
      continue;
    }
    const { haver, able } = findHavers(want, members, busy, room);
    if (haver && want.asked.members === 0) askMember(want, haver);
    else if (isLate) askServer(want);
    else if (!areFaster(able * memberLimit, situation)) {
      const owner = ownerOf(want, selfSeed, members);
      if (owner === undefined) askServer(want);
      else if (room(owner) && (busy.get(owner.id) ?? 0) < ownerRequests) askMember(want, owner);
      else if (owner.doubtful) left.push(want);
    }
  }
  // rather than that the server has nothing to do
  for (const want of left) askServer(want);
  return requests;
}

/** Decides who is to fetch it from the server, of those that are about to need it; `undefined`: this machine. */
export function ownerOf(
  { at, seed, tried }: Pick<Want, 'at' | 'seed' | 'tried'>,
  selfSeed: number,
  members: readonly Member[],
): Member | undefined {
  let best = weightOf(seed, selfSeed);
  let owner: Member | undefined;
  for (const member of members) {
    if (member.done > at || member.done + chunksAhead <= at || tried.has(member.id)) continue;
    const weight = weightOf(seed, member.seed);
    if (weight < best) continue;
    best = weight;
    owner = member;
  }
  return owner;
}

/** Milliseconds after which a chunk that is due is late: what the server takes for one, and some more. */
export function hedgeAfter(serverMs: number | undefined): number {
  return Math.round(Math.min(mostHedgeMs, Math.max(leastHedgeMs, 3 * (serverMs ?? unknownServerMs))));
}

/** Requests to the server at a time, of one of so many others that stand near it. */
function shareOfServer(others: number): number {
  return Math.ceil(serverRequests / (others + 1));
}

/** Neighbours cost both sides more than a server does that is not busy. */
function isServerFast({ serverMs, members, unheard }: Situation): boolean {
  return serverMs !== undefined && (serverMs * serverRequests) / shareOfServer(members.length + unheard) < fastServerMs;
}

/** Whether so many requests to neighbours bring more than those to the server: else it is asked at the same time. */
function areFaster(requests: number, { serverMs, memberMs }: Situation): boolean {
  if (requests === 0 || memberMs === undefined || serverMs === undefined) return false;
  return requests / memberMs >= serverRequests / serverMs;
}

/** The member to ask of those that have it, the least busy, and how many of them send in time. */
function findHavers(
  { at, seed, tried }: Want,
  members: readonly Member[],
  busy: ReadonlyMap<string, number>,
  room: (member: Member) => boolean,
): { readonly haver: Member | undefined; readonly able: number } {
  let haver: Member | undefined;
  let least = Infinity;
  let able = 0;
  for (const member of members) {
    if (member.done <= at || tried.has(member.id)) continue;
    if (member.known) able += 1;
    if (!room(member)) continue;
    const load = (busy.get(member.id) ?? 0) + weightOf(seed, member.seed) / 2 ** 32;
    if (load >= least) continue;
    least = load;
    haver = member;
  }
  return { haver, able };
}

/** Gives the seed of an id in hex: its first 32 bits. */
export function seedOf(id: string): number {
  return Number.parseInt(id.slice(0, 8), 16);
}

/** The same on all machines, and spread evenly (rendezvous hashing): 32 bits. */
function weightOf(chunkSeed: number, memberSeed: number): number {
  let hash = chunkSeed ^ memberSeed;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
