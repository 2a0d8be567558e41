import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodeLeases } from '#conductor/kernel/db/schema/node.ts';
import {
  claimLease,
  holdLease,
  type Lease,
  leaseHolder,
  releaseLease,
  releaseStaleLeases,
  renewLease,
} from '#conductor/nodes/node-lease.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let db: Queryable;
let node: string;

beforeAll(async () => {
  api = await openTestApi();
  db = api.context.db;
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  node = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' })).uuid;
});

async function claim(holder: string): Promise<Lease> {
  const lease = await claimLease(db, node, { holder, leaseMs: 60_000 });
  if (!lease) throw new Error('not claimed');
  return lease;
}
const expire = () => db.update(nodeLeases).set({ expiresAt: sql`now() - interval '1 second'` });
const hold = (lease: Lease) => db.transaction((tx) => holdLease(tx, lease));

test('one holder at a time, and the API shows who', async () => {
  const lease = await claim('a');
  expect(await claimLease(db, node, { holder: 'b', leaseMs: 60_000 })).toBeUndefined();
  expect((await api.call('GET', `/v1/nodes/${node}`)).body['reservation']).toBe('a');
  await releaseLease(db, lease);
  expect(await leaseHolder(db, node)).toBeUndefined();
  await claim('b');
});

test('an expired lease is taken over, and its old holder is fenced off', async () => {
  const old = await claim('a');
  await hold(old);
  await expire();
  const next = await claim('b');
  expect(next.token).toBeGreaterThan(old.token);
  expect([old.takenFrom, next.takenFrom]).toEqual([undefined, 'a']);
  await expect(hold(old)).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await renewLease(db, old, 60_000)).toBe(false);
  await releaseLease(db, old); // releases nothing of b's
  expect(await leaseHolder(db, node)).toBe('b');
});

test('the same conductor after a restart is another holder', async () => {
  const old = await claim('a');
  await releaseStaleLeases(db, { holder: 'a', exclusive: false });
  await claim('a');
  await expect(hold(old)).rejects.toMatchObject({ code: 'lease_lost' });
});

test('at start only its own leases are void, unless the database is its alone', async () => {
  await claim('a');
  await releaseStaleLeases(db, { holder: 'b', exclusive: false });
  expect(await leaseHolder(db, node)).toBe('a');
  await releaseStaleLeases(db, { holder: 'b', exclusive: true });
  expect(await leaseHolder(db, node)).toBeUndefined();
});
