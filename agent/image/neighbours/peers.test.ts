import { expect, test, vi } from 'vitest';
import { createPeers } from '#agent/image/neighbours/peers.ts';
import { createTracker, startMisbehaving } from '#agent/image/neighbours/testing/swarm.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Neighbour } from '#shared/wire/neighbours.ts';

/** Peers that know nobody, and a machine that answers. */
async function setUp() {
  const tracker = createTracker();
  const server = await startMisbehaving(tracker, 'one', () => new Response('a lie'));
  const request = { image: 'a'.repeat(64), port: 1, certificate_sha256: 'b'.repeat(64) };
  const [answering] = (await tracker.ask('observer')(request)).neighbours as [Neighbour];
  const peers = createPeers({
    self: () => 'self',
    ticket: () => tracker.sign({}),
    clock: systemClock,
    log: silentLog,
    onChange: () => undefined,
  });
  const ids = (): readonly string[] => peers.members().map(({ id }) => id);
  const close = async (): Promise<void> => {
    peers.close();
    await server[Symbol.asyncDispose]();
  };
  return { peers, ids, answering, [Symbol.asyncDispose]: close };
}

test('a machine that has begun again is asked where it is now', async () => {
  await using setup = await setUp();
  const { peers, ids, answering } = setup;
  peers.add({ ...answering, url: 'https://127.0.0.1:1' });
  await vi.waitFor(() => expect(peers.unheard()).toBe(0));
  expect(ids()).toEqual([]);
  peers.add(answering);
  await vi.waitFor(() => expect(ids()).toEqual([answering.id]));
  // somebody shows its old ticket
  peers.meet({ ...answering, url: 'https://127.0.0.1:1' });
  expect(ids()).toEqual([answering.id]);
  peers.add({ ...answering, certificate_sha256: '0'.repeat(64) });
  expect(ids()).toEqual([]);
});

test('those that are never asked again make room for others; those that may be asked do not', async () => {
  await using setup = await setUp();
  const { peers, ids, answering } = setup;
  const named = (number: number): Neighbour => ({ ...answering, id: number.toString(16).padStart(16, '0') });
  const all = Array.from({ length: 33 }, (_, number) => named(number));
  const [first, last] = [named(0), named(32)];
  for (const each of all) {
    peers.add(each);
    await vi.waitFor(() => expect(peers.unheard()).toBe(0));
  }
  expect(ids()).toEqual(all.slice(0, 32).map(({ id }) => id));
  const lie = peers.ask({
    member: first.id,
    chunkId: 'c'.repeat(64),
    at: 0,
    maxBytes: 100,
    takes: () => Promise.reject(new AppError('image_error', 'not that chunk')),
    serverMs: undefined,
    signal: new AbortController().signal,
  });
  await expect(lie).rejects.toThrow('not that chunk');
  peers.add(last);
  await vi.waitFor(() => expect(ids()).toEqual(all.slice(1).map(({ id }) => id)));
});
