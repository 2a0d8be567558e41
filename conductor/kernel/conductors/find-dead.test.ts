import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createDeathWatch } from '#conductor/kernel/conductors/find-dead.ts';
import { conductorLock } from '#conductor/kernel/conductors/register.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import { conductors } from '#conductor/kernel/db/schema/conductor.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { webhookDeliveries, webhooks } from '#conductor/kernel/db/schema/webhook.ts';
import { selfFenceMs } from '#conductor/kernel/db/session/life.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { claimDeliveries } from '#conductor/webhooks/claim-deliveries.ts';
import { silentLog } from '#shared/log.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

let nodeUuid: string;
beforeEach(async () => {
  const { db } = database;
  await db.execute(sql`truncate conductors`);
  await db.delete(nodes);
  const [node] = await db
    .insert(nodes)
    .values({
      uuid: crypto.randomUUID(),
      driver: 'fake-hardware',
      networkInterface: 'noop',
      provisionState: 'available',
    })
    .returning();
  nodeUuid = node?.uuid ?? '';
  await claimLease(db, nodeUuid, { holder: 'other', leaseMs: 3_600_000 });
  await register({ knows: 3 });
});

const register = ({ knows }: { readonly knows: number }) =>
  database.db
    .insert(conductors)
    .values({ hostname: 'other', drivers: [], publicUrl: '', knows, knowsGeneration: 1 })
    .onConflictDoUpdate({ target: conductors.hostname, set: { knows } });
const beat = () => database.db.update(conductors).set({ updatedAt: sql`now()` });

/** The steady clock of who watches. */
const clock = { ms: 0 };
const watch = () =>
  createDeathWatch({ db: database.db, log: silentLog, config: { conductorName: 'watcher' } }, () => clock.ms);
const expiry = async () => {
  const { db } = database;
  const [row] = await db
    .select({ over: sql<boolean>`${nodeLeases.expiresAt} <= now()`, holder: nodeLeases.holder })
    .from(nodeLeases)
    .where(eq(nodeLeases.nodeUuid, nodeUuid));
  return row;
};

test('without a session for as long as its own clocks let it act, it is dead, and its leases end', async () => {
  const look = watch();
  expect(await look()).toEqual([]);
  clock.ms += selfFenceMs - 1;
  expect(await look()).toEqual([]);
  expect(await expiry()).toEqual({ over: false, holder: 'other' });
  clock.ms += 1;
  expect(await look()).toEqual([{ hostname: 'other', nodes: [nodeUuid] }]);
  expect(await expiry()).toEqual({ over: true, holder: 'other' });
  expect(await look()).toEqual([]);
});

test('a session that holds the name is life, whatever else is late', async () => {
  const name = database.lock(conductorLock('other'));
  await name.take();
  await database.db.update(conductors).set({ updatedAt: sql`now() - interval '1 day'` });
  const look = watch();
  for (let day = 0; day < 3; day += 1) {
    expect(await look()).toEqual([]);
    clock.ms += 86_400_000;
  }
  await name.release();
  expect(await look()).toEqual([]);
  clock.ms += selfFenceMs;
  expect(await look()).toHaveLength(1);
});

test('one that has come back between two looks, and was cut again has its whole time again', async () => {
  const look = watch();
  expect(await look()).toEqual([]);
  clock.ms += selfFenceMs - 1;
  await beat();
  expect(await look()).toEqual([]);
  clock.ms += selfFenceMs - 1;
  expect(await look()).toEqual([]);
  clock.ms += 1;
  expect(await look()).toHaveLength(1);
});

test('of two that watch, one finds it; a conductor of an older release is left to its leases', async () => {
  const looks = [watch(), watch()];
  for (const look of looks) await look();
  clock.ms += selfFenceMs;
  const found = await Promise.all(looks.map((look) => look()));
  expect(found.flat()).toHaveLength(1);

  await database.db.update(conductors).set({ stoppedAt: null });
  await register({ knows: 2 });
  const look = watch();
  await look();
  clock.ms += 86_400_000;
  expect(await look()).toEqual([]);
});

test('what it was delivering to webhooks is free for others; what the living deliver is not', async () => {
  const { db } = database;
  const uuid = crypto.randomUUID();
  await db.insert(webhooks).values({ uuid, name: 'hook', url: 'http://example.test/', secret: '' });
  const about = { webhookUuid: uuid, eventType: 'node.power_state', body: {} };
  const add = async () => {
    const ids = { eventId: crypto.randomUUID(), subject: crypto.randomUUID() };
    await db.insert(webhookDeliveries).values({ ...about, ...ids });
    return ids.subject;
  };
  const claim = async (by: string) => (await claimDeliveries(db, by, uuid, 9)).map(({ subject }) => subject);
  const left = await add();
  expect(await claim('other')).toEqual([left]);
  await add();
  expect(await claim('living')).toHaveLength(1);
  const look = watch();
  await look();
  clock.ms += selfFenceMs;
  expect(await claim('watcher')).toEqual([]);
  expect(await look()).toHaveLength(1);
  expect(await claim('watcher')).toEqual([left]);
  await db.delete(webhooks);
});
