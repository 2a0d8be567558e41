import type { KeyObject } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Context, Hono } from 'hono';
import type { Offer } from '#agent/image-means/image-share.ts';
import type { Clock } from '#shared/clock.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import { openTicket, type Ticket } from '#shared/wire/neighbours.ts';

/** The number of chunks of the image, from its beginning, that a machine has. */
export const doneHeader = 'x-baton-done';

/** Milliseconds for which a chunk may be waited for that is not here yet. */
export const waitHeader = 'x-baton-wait-ms';
const mostWaitMs = 4000;

/** Chunks sent at a time. */
const atOnce = 8;
/** Requests at a time: each may wait, and read and pack a chunk. A neighbour has eight under way at most. */
const mostRequests = { inAll: 64, ofTicket: 16 };
const mostKnown = 256;
/** Without a byte taken: anyone who does not read what was asked for is cut off. */
const mostStallMs = 20_000;
/** 800 Mbit/s: the machine's own traffic needs room on the link, too. */
const bytesPerSecond = 100e6;

/**
 * Serves chunks to machines that deploy the same image: `GET /` says how far this one is, `GET /<chunk id>` sends a
 * chunk. Who has no ticket for the image gets nothing; `offer` is `undefined` where nothing is being deployed.
 */
export function serveChunks(offer: () => Offer | undefined, clock: Clock, stallMs = mostStallMs): Hono {
  const app = new Hono();
  const inTurn = limitAtOnce({ most: atOnce });
  const places = createPlaces();
  const pace = createPace(clock);
  /** Verified before: each comes with every chunk. */
  const known = new Map<string, Ticket>();
  const openKnown = (text: string, key: KeyObject): Ticket | undefined => {
    const before = known.get(text);
    if (before) return before.expires > clock.now().getTime() ? before : undefined;
    const ticket = openTicket(text, key, clock.now());
    if (!ticket) return undefined;
    if (known.size >= mostKnown) known.clear();
    known.set(text, ticket);
    return ticket;
  };
  const admit = (c: Context): { readonly offered: Offer; readonly ticket: Ticket } | undefined => {
    const offered = offer();
    const key = offered?.publicKey();
    const text = /^Bearer (\S{1,4096})$/.exec(c.req.header('authorization') ?? '')?.[1];
    const ticket = key && text !== undefined ? openKnown(text, key) : undefined;
    if (!offered || !ticket || ticket.group !== offered.group()) return undefined;
    offered.meet(ticket);
    return { offered, ticket };
  };
  app.get('/', (c) => {
    const admitted = admit(c);
    return admitted ? c.body(null, 204, { [doneHeader]: String(admitted.offered.done()) }) : c.body(null, 401);
  });
  app.get('/:id{[0-9a-f]{64}}', async (c) => {
    const admitted = admit(c);
    if (!admitted) return c.body(null, 401);
    const { offered, ticket } = admitted;
    const { signal } = c.req.raw;
    const headers = (): Record<string, string> => ({ [doneHeader]: String(offered.done()), 'content-length': '0' });
    if (!places.take(ticket.id)) return c.body(null, 503, headers());
    let leavesNow = true;
    try {
      const wait = /^\d{1,5}$/.exec(c.req.header(waitHeader) ?? '')?.[0];
      const bytes = await offered.find(c.req.param('id'), Math.min(mostWaitMs, Number(wait ?? 0)), signal);
      if (bytes === 'not yet') return c.body(null, 425, headers());
      if (bytes === undefined) return c.body(null, 404, headers());
      await inTurn(() => pace(bytes.length, signal), signal);
      // without a server, in tests, there is none
      const { outgoing } = (c.env ?? {}) as { readonly outgoing?: ServerResponse };
      leavesNow = outgoing === undefined;
      if (outgoing) leaveWhenSent(outgoing, stallMs, () => places.leave(ticket.id));
      const length = String(bytes.length);
      return c.body(bytes as Uint8Array<ArrayBuffer>, 200, { ...headers(), 'content-length': length });
    } catch (error) {
      if (!signal.aborted) throw error;
      return c.body(null, 503, headers()); // nobody reads it
    } finally {
      if (leavesNow) places.leave(ticket.id);
    }
  });
  return app;
}

/** Ends an answer that is not read, because it stays in memory. */
function leaveWhenSent(outgoing: ServerResponse, stallMs: number, leave: () => void): void {
  if (outgoing.closed) return leave();
  outgoing.once('close', leave);
  outgoing.setTimeout(stallMs, () => outgoing.destroy());
}

/** For requests that are being answered. */
function createPlaces(): { take(holder: string): boolean; leave(holder: string): void } {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take: (holder) => {
      const own = taken.get(holder) ?? 0;
      if (all >= mostRequests.inAll || own >= mostRequests.ofTicket) return false;
      all += 1;
      taken.set(holder, own + 1);
      return true;
    },
    leave: (holder) => {
      all -= 1;
      const left = (taken.get(holder) ?? 1) - 1;
      if (left > 0) taken.set(holder, left);
      else taken.delete(holder);
    },
  };
}

/** Waits until so many bytes may be sent. */
function createPace(clock: Clock): (bytes: number, signal: AbortSignal) => Promise<void> {
  let free = 0;
  return async (bytes, signal) => {
    const now = clock.now().getTime();
    const waitMs = free - now;
    free = Math.max(free, now) + (bytes / bytesPerSecond) * 1000;
    if (waitMs > 1) await clock.sleep(waitMs, signal);
  };
}
