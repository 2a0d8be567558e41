import { drizzle } from 'drizzle-orm/node-postgres';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { allocateRound, type RoundOptions } from '#conductor/allocations/allocate-round.ts';
import { allocationResource, deleteUnmatched, getAllocation } from '#conductor/allocations/allocation-store.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { type NodeInsert, nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTraits } from '#conductor/kernel/db/schema/node-parts.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { listRows } from '#conductor/nodes/resources/resource-store.ts';
import { addAvailableNode, availableNode } from '#test/support/available-node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Single rounds, called by hand: what happens between a look and a claim can be told. */

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const addNode = (name: string, more: Partial<NodeInsert> = {}) => addAvailableNode(api.context.db, name, more);
const members = () =>
  listRows(api.context.db, allocationResource, {}, { limit: 200, sortKey: 'id', descending: false });
const states = async () => (await members()).map(({ state }) => state);
const patience = { patienceMs: 10_000, retryMs: 500 };
const roundOptions = (): RoundOptions => ({
  hinderedSince: new Map(),
  waits: { explainedAt: undefined },
  ...patience,
});
const insert = (more: Partial<typeof allocations.$inferInsert> = {}) =>
  api.context.db.insert(allocations).values({
    uuid: crypto.randomUUID(),
    state: 'allocating',
    resourceClass: 'big',
    conductor: 'test-host',
    ...more,
  });
/** The context with a hook before each transaction, which is where another conductor may come first. */
const withHook = (before: () => Promise<void>, now: () => Date = () => new Date()): typeof api.context => {
  const { db } = api.context;
  const transaction: typeof db.transaction = async (work, config) => {
    await before();
    return db.transaction(work, config);
  };
  const hooked = new Proxy(db, {
    get: (target, key): unknown => {
      if (key === 'transaction') return transaction;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { ...api.context, db: hooked, clock: { ...api.context.clock, now } };
};
const inAnHour = () => new Date(Date.now() + 3_600_000);

test('a round of different requests reads enough nodes for each', async () => {
  const fleet = Array.from({ length: 120 }, (_, index) => availableNode(`n${index}`));
  await api.context.db.insert(nodes).values(fleet);
  await api.context.db.insert(nodeTraits).values(fleet.map(({ uuid }) => ({ nodeUuid: uuid, trait: 'CUSTOM_T' })));
  await api.context.db.insert(allocations).values(
    Array.from({ length: 119 }, () => ({
      uuid: crypto.randomUUID(),
      state: 'allocating' as const,
      resourceClass: 'big',
      conductor: 'test-host',
    })),
  );
  await insert({ traits: ['CUSTOM_T'] });
  await allocateRound(api.context, roundOptions());
  expect((await members()).filter(({ state }) => state !== 'active')).toEqual([]);
});

test('what waits and loses a race goes on waiting', async () => {
  await insert({ waitUntil: inAnHour() });
  const options = roundOptions();
  for (const laterMs of [0, 30_000]) {
    const node = await addNode(`n${laterMs}`);
    const steal = async () => {
      await updateNode(api.context.db, node, { instanceUuid: crypto.randomUUID() });
    };
    const steals = [steal];
    const context = withHook(
      async () => steals.pop()?.(),
      () => new Date(Date.now() + laterMs),
    );
    expect(await allocateRound(context, options)).toBe(500);
    await allocateRound(context, options);
    expect(await states()).toEqual(['allocating']);
    expect(options.hinderedSince.size).toBe(0);
  }
  // and one whose race never ends is not ended before its time
  const node = await addNode('busy');
  const impatient = {
    ...options,
    patienceMs: 0,
    hinderedSince: new Map([[(await members())[0]?.uuid ?? '', new Date(0)]]),
  };
  const context = withHook(async () => {
    await updateNode(api.context.db, node, { instanceUuid: crypto.randomUUID() });
  });
  await allocateRound(context, impatient);
  expect(await states()).toEqual(['allocating']);
});

test('a node goes to the next one when the first can not have it after all', async () => {
  const node = await addNode('n1');
  const gone = crypto.randomUUID();
  await insert({ uuid: gone });
  await insert({ name: 'next' });
  const deletions = [gone];
  const context = withHook(async () => {
    const uuid = deletions.pop();
    if (uuid !== undefined) await deleteUnmatched(api.context.db, uuid);
  });
  await allocateRound(context, roundOptions());
  expect(await getAllocation(api.context.db, 'next')).toMatchObject({ state: 'active', nodeUuid: node });
});

test('a node that is locked is said to be', async () => {
  await addNode('n1').then((uuid) => claimLease(api.context.db, uuid, { holder: 'x', leaseMs: 60_000 }));
  await insert();
  await allocateRound(api.context, {
    ...roundOptions(),
    hinderedSince: new Map([[(await members())[0]?.uuid ?? '', new Date(0)]]),
  });
  expect(await members()).toMatchObject([
    {
      state: 'error',
      lastError: 'could not reserve any of 1 suitable nodes (1 nodes of the class: 1 locked by a conductor at work)',
    },
  ]);
});

test('many that wait are told in one save, and not again at once', async () => {
  const node = await addNode('n1', { maintenance: true });
  for (let index = 0; index < 20; index += 1) await insert({ waitUntil: inAnHour() });
  const options = roundOptions();
  const saves: number[] = [];
  const context = withHook(async () => void saves.push(1));
  await allocateRound(context, options);
  expect(saves).toHaveLength(1);
  await updateNode(api.context.db, node, { retired: true });
  const lookAgainMs = await allocateRound(context, options);
  expect(saves).toHaveLength(1);
  expect(lookAgainMs).toBeLessThanOrEqual(5_000);
  await allocateRound(
    withHook(
      async () => void saves.push(1),
      () => new Date(Date.now() + 6_000),
    ),
    options,
  );
  expect(saves).toHaveLength(2);
  expect((await members())[19]?.waitingFor).toContain('1 in maintenance, 1 retired');
});

test('leases are locked before the nodes are read', async () => {
  const node = await addNode('n1');
  await insert();
  const sent: string[] = [];
  const logger = { logQuery: (query: string) => void sent.push(query) };
  const { $client: client } = api.context.db as unknown as { readonly $client: Pool };
  const db = drizzle({ client, casing: 'snake_case', logger }) as unknown as typeof api.context.db;
  await allocateRound({ ...api.context, db }, roundOptions());
  expect(sent.flatMap((query) => /.*from "(\w+)".* for update/s.exec(query)?.[1] ?? [])).toEqual([
    'allocations',
    'node_leases',
    'nodes',
  ]);
  expect(await members()).toMatchObject([{ nodeUuid: node }]);
});
