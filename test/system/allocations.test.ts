import { randomUUID } from 'node:crypto';
import { eq, isNotNull, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { getAllocation } from '#conductor/allocations/allocation-store.ts';
import { claimNodes } from '#conductor/allocations/claim-nodes.ts';
import { requirementsOf } from '#conductor/allocations/demand.ts';
import { byUuid, lockCandidates } from '#conductor/allocations/read-candidates.ts';
import { saveUnserved } from '#conductor/allocations/work-store.ts';
import { createApp } from '#conductor/http/app.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { readConfig } from '#conductor/start/config.ts';
import { type OpenedContext, openContext } from '#conductor/start/open-context.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';

/** Allocations by two conductors on one PostgreSQL: no node twice, no allocation lost. */

type Json = Record<string, unknown>;
interface Conductor extends OpenedContext {
  readonly call: (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Json }>;
}

let server: PostgresServer;
let first: Conductor;
let second: Conductor;

beforeAll(async () => {
  server = await startPostgresql();
  first = await openConductor('first');
  second = await openConductor('second');
});
beforeEach(async () => {
  await first.context.db.execute(sql`truncate nodes, allocations cascade`);
});
afterAll(async () => {
  await first.close();
  await second.close();
  await server.close();
});

async function openConductor(name: string, settings: Readonly<Record<string, string>> = {}): Promise<Conductor> {
  const config = readConfig({ ...server.settings, BATON_CONDUCTOR_NAME: name, ...settings });
  const opened = await openContext(config, { log: silentLog });
  const app = createApp(opened.context);
  return {
    ...opened,
    call: async (method, path, body) => {
      const answer = await app.request(`http://api.example${path}`, {
        method,
        headers: { 'X-OpenStack-Ironic-API-Version': '1.96', 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as Json) };
    },
  };
}

async function addNodes(count: number, more: Partial<typeof nodes.$inferInsert> = {}): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, index) => ({
    uuid: randomUUID(),
    name: `node-${index}`,
    driver: 'fake-hardware',
    networkInterface: 'noop',
    resourceClass: 'big',
    provisionState: 'available' as const,
    powerState: 'power off' as const,
    ...more,
  }));
  await first.context.db.insert(nodes).values(rows);
  return rows.map(({ uuid }) => uuid);
}

async function settled(): Promise<Json[]> {
  return waitUntil('no allocation to be under way', async () => {
    const { body } = await first.call('GET', '/v1/allocations');
    const rows = body['allocations'] as Json[];
    return rows.some((row) => row['state'] === 'allocating') ? undefined : rows;
  });
}

/** Both sides tell the same, and no node stands twice. */
async function expectConsistent(rows: readonly Json[]): Promise<void> {
  const active = rows.filter((row) => row['state'] === 'active');
  expect(new Set(active.map((row) => row['node_uuid'])).size).toBe(active.length);
  const taken = await first.context.db.select().from(nodes).where(isNotNull(nodes.instanceUuid));
  const pairs = (list: readonly (readonly [unknown, unknown])[]) => list.map((pair) => pair.join(' ')).sort();
  expect(pairs(taken.map((node) => [node.instanceUuid, node.uuid]))).toEqual(
    pairs(active.map((row) => [row['uuid'], row['node_uuid']])),
  );
  expect(taken.every((node) => node.allocationUuid === node.instanceUuid)).toBe(true);
}

test('32 clients of two conductors over few nodes: as many succeed as there are nodes', async () => {
  await addNodes(20);
  const asked = await Promise.all(
    Array.from({ length: 32 }, (_, index) =>
      (index % 2 === 0 ? first : second).call('POST', '/v1/allocations', { resource_class: 'big', name: `a-${index}` }),
    ),
  );
  expect(asked.map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 201));
  const rows = await settled();
  expect(rows).toHaveLength(32);
  expect(rows.filter((row) => row['state'] === 'active')).toHaveLength(20);
  await expectConsistent(rows);
  for (const row of rows.filter((each) => each['state'] === 'error')) {
    expect(row['last_error']).toBe(
      'no available nodes match the resource class big (20 nodes of the class: 20 with an instance)',
    );
  }
});

test('clients who ask, delete and ask again never get a node twice, and lose none', async () => {
  await addNodes(8);
  const client = async (index: number): Promise<void> => {
    const conductor = index % 2 === 0 ? first : second;
    for (let round = 0; round < 6; round += 1) {
      const { body } = await conductor.call('POST', '/v1/allocations', { resource_class: 'big', wait: 60 });
      // some change their mind while the conductor looks
      if ((index + round) % 3 !== 0) {
        await waitUntil('the node', async () => {
          const { body: row } = await conductor.call('GET', `/v1/allocations/${String(body['uuid'])}`);
          return row['state'] === 'active' ? row : undefined;
        });
      }
      await waitUntil('the deletion', async () => {
        const { status } = await conductor.call('DELETE', `/v1/allocations/${String(body['uuid'])}`);
        // 409: another request holds the node for a moment
        return status === 204 || status === 404 ? true : undefined;
      });
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, index) => client(index)));
  const rows = await settled();
  expect(rows).toEqual([]);
  expect(await first.context.db.select().from(nodes).where(isNotNull(nodes.instanceUuid))).toEqual([]);
});

test('what waits is given its node when one becomes available, whichever conductor hears of it', async () => {
  const [uuid = ''] = await addNodes(1, { maintenance: true });
  // nothing else looks again before that time is over, for openContext starts no periodic task
  const { body } = await first.call('POST', '/v1/allocations', { resource_class: 'big', wait: 600 });
  await first.context.allocator.idle();
  const path = `/v1/allocations/${String(body['uuid'])}`;
  expect((await first.call('GET', path)).body).toMatchObject({
    state: 'allocating',
    waiting_for: 'no available nodes match the resource class big (1 nodes of the class: 1 in maintenance)',
  });
  await second.call('DELETE', `/v1/nodes/${uuid}/maintenance`);
  const rows = await settled();
  expect(rows).toMatchObject([{ state: 'active', node_uuid: uuid }]);
});

test('allocations of a conductor that is gone are taken over, and the one that comes back is fenced off', async () => {
  // it gives one sign of life, so that none comes between its seeming death and who takes over
  const once = { BATON_CONDUCTOR_HEARTBEAT_INTERVAL: '3600', BATON_CONDUCTOR_TIMEOUT: '7200' };
  const third = await openConductor('third', once);
  const asked = await third.call('POST', '/v1/allocations', { resource_class: 'big', wait: 600 });
  const uuid = String(asked.body['uuid']);
  await third.context.allocator.idle();
  const before = await getAllocation(first.context.db, uuid);
  expect(before).toMatchObject({ conductor: 'third', state: 'allocating', token: 1 });
  // alive: nobody takes it
  await first.context.allocator.takeOver();
  expect((await getAllocation(first.context.db, uuid)).conductor).toBe('third');
  await third.context.db.execute(
    sql`update conductors set updated_at = now() - interval '1 hour' where hostname = 'third'`,
  );
  await Promise.all([first.context.allocator.takeOver(), second.context.allocator.takeOver()]);
  const taken = await getAllocation(first.context.db, uuid);
  expect(['first', 'second']).toContain(taken.conductor);
  expect(taken.token).toBe(2);
  // it wakes up and goes on with what it knows
  const [node = ''] = await addNodes(1);
  await saveUnserved(third.context, [before], { lastError: 'too late' });
  const late = await third.context.db.transaction((tx) => lockCandidates(tx, [node]));
  const [candidate] = byUuid(late).values();
  if (!candidate) throw new Error('no node');
  const claim = { requirements: requirementsOf(before), pairs: [{ allocation: before, node: candidate }] };
  expect(await claimNodes(third.context, [claim])).toEqual(new Set());
  expect(await getAllocation(first.context.db, uuid)).toMatchObject({ state: 'allocating', lastError: null });
  await Promise.all([first.context.allocator.lookAfter(), second.context.allocator.lookAfter()]);
  const rows = await settled();
  expect(rows).toMatchObject([{ uuid, state: 'active', node_uuid: node }]);
  await third.close();
});

test('an earlier life is fenced off, and its allocations go on', async () => {
  const third = await openConductor('third');
  const asked = await third.call('POST', '/v1/allocations', { resource_class: 'big', wait: 600 });
  await third.context.allocator.idle();
  await third.close();
  const [node = ''] = await addNodes(1);
  const again = await openConductor('third');
  await settled();
  expect(await getAllocation(first.context.db, String(asked.body['uuid']))).toMatchObject({
    state: 'active',
    nodeUuid: node,
    conductor: 'third',
    token: 2,
  });
  await again.close();
});

test('undeploying a node gives it back with its instance, in one transaction', async () => {
  const [uuid = ''] = await addNodes(1, { automatedClean: false });
  const asked = await first.call('POST', '/v1/allocations', { resource_class: 'big', name: 'a' });
  await settled();
  await first.context.db.update(nodes).set({ provisionState: 'active' }).where(eq(nodes.uuid, uuid));
  expect((await first.call('DELETE', '/v1/allocations/a')).status).toBe(409);
  expect((await first.call('PUT', `/v1/nodes/${uuid}/states/provision`, { target: 'deleted' })).status).toBe(202);
  await waitUntil('the node to be available', async () => {
    const { body } = await first.call('GET', `/v1/nodes/${uuid}`);
    return body['provision_state'] === 'available' ? body : undefined;
  });
  expect((await first.call('GET', `/v1/nodes/${uuid}`)).body).toMatchObject({
    instance_uuid: null,
    allocation_uuid: null,
    instance_info: {},
  });
  expect((await first.call('GET', '/v1/allocations/a')).status).toBe(404);
  const { body: history } = await first.call('GET', `/v1/nodes/${uuid}/history`);
  expect(history['history']).toContainEqual(
    expect.objectContaining({ event: `released from allocation ${String(asked.body['uuid'])}` }),
  );
});
