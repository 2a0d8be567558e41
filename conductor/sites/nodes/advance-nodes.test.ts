import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConductorContext } from '#conductor/context.ts';
import { allocations } from '#conductor/db/schema/allocation.ts';
import { flows } from '#conductor/db/schema/flow.ts';
import { nodes } from '#conductor/db/schema/node.ts';
import { ports } from '#conductor/db/schema/port.ts';
import { siteNodes } from '#conductor/db/schema/site.ts';
import { putCredential } from '#conductor/sites/credentials/credential-store.ts';
import { advanceNodes } from '#conductor/sites/nodes/advance-nodes.ts';
import type { NodeOutcome, TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { relabelNodes } from '#conductor/sites/nodes/relabel-nodes.ts';
import { siteNode, teardownOrder } from '#conductor/sites/nodes/testing/node-cases.ts';
import { writesImage } from '#conductor/sites/nodes/testing/writes-image.ts';
import { verifyNodes } from '#conductor/sites/nodes/verify-nodes.ts';
import type { Site, SiteNode } from '#conductor/sites/site.ts';
import type { NodePhase } from '#conductor/sites/strategy/site-run.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Nodes of fake hardware, whose flows a conductor in this process runs. */

let conductor: ConductorInProcess;
let operator: Operator;
beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());

const count = { nodes: 0 };
function newNode(more: Partial<SiteNode> = {}): SiteNode {
  count.nodes += 1;
  const hex = count.nodes.toString(16).padStart(4, '0');
  const address = `52:54:00:07:${hex.slice(0, 2)}:${hex.slice(2)}`;
  return {
    ...siteNode,
    name: `fake-${count.nodes}`,
    rack: 'r1',
    tags: ['worker'],
    ports: [{ address, pxeEnabled: true }],
    traits: ['CUSTOM_SITE'],
    ...more,
  };
}

const siteOf = (given: readonly SiteNode[]): Site => ({
  nodes: new Map(given.map((node) => [node.name, node])),
  strategy: { name: 'default', groups: [], max_parallel_groups: 1 },
  timeouts: { prepare: 1800, deploy: 3600 },
  plugins: [],
  etcdClusters: [],
});
const newAction = () => ({ id: crypto.randomUUID(), name: 'deploy_site', user: null, revisionId: 1 });
type Action = ReturnType<typeof newAction>;

interface Wish {
  readonly action: Action;
  readonly phase: NodePhase;
  readonly teardown?: TeardownOrder;
}

function beat(given: readonly SiteNode[], { action, ...order }: Wish, context = conductor.context()) {
  return advanceNodes(
    { ...context, run: writesImage },
    { action, site: siteOf(given), orders: given.map((node) => ({ node, ...order })) },
  );
}

/** Until all have ended. */
async function run(given: readonly SiteNode[], wish: Wish): Promise<Map<string, NodeOutcome>> {
  const ended = new Map<string, NodeOutcome>();
  return waitUntil(
    wish.phase,
    async () => {
      const left = given.filter(({ name }) => !ended.has(name));
      const outcomes = await beat(left, wish);
      for (const [name, outcome] of outcomes) if (outcome.state !== 'working') ended.set(name, outcome);
      return ended.size === given.length ? ended : undefined;
    },
    { timeoutMs: 60_000, everyMs: 20 },
  );
}

const uuidOf = async (name: string) => String((await operator.node(name))['uuid']);

async function flowsOf(name: string): Promise<string[]> {
  const { db } = conductor.context();
  const rows = await db
    .select()
    .from(flows)
    .where(eq(flows.nodeUuid, await uuidOf(name)));
  return rows.map(({ kind, state }) => `${kind} ${state}`).sort();
}

const wholeWay = ['clean succeeded', 'deploy succeeded', 'verify succeeded'];

test('many nodes at a time go from nothing to active', async () => {
  const given = Array.from({ length: 6 }, () => newNode());
  const action = newAction();
  const done = new Map(given.map(({ name }) => [name, { state: 'done' }]));
  expect(await run(given, { action, phase: 'prepare' })).toEqual(done);
  expect(await run(given, { action, phase: 'deploy' })).toEqual(done);
  for (const { name } of given) expect(await flowsOf(name)).toEqual(wholeWay);
}, 120_000);

test('a conductor that dies after any of its writes loses nothing and does nothing twice', async () => {
  let deaths = 0;
  for (let writes = 1; writes < 100; writes += 1) {
    const node = newNode();
    const action = newAction();
    const dying = dyingAfter(writes, conductor.context());
    for (const phase of ['prepare', 'deploy'] as const) {
      const outcome = await waitUntil(
        phase,
        async () => {
          // the dead one's beat comes to nothing; the next one is another conductor's
          const context = dying.isDead() ? conductor.context() : dying.context;
          const outcomes = await beat([node], { action, phase }, context).catch((error: unknown) => {
            if (dying.isDead()) return new Map<string, NodeOutcome>();
            throw error;
          });
          const found = outcomes.get(node.name);
          return found?.state === 'working' ? undefined : found;
        },
        { timeoutMs: 60_000, everyMs: 10 },
      );
      expect(outcome.state).toBe('done');
    }
    const { db } = conductor.context();
    expect(await flowsOf(node.name)).toEqual(wholeWay);
    expect(await db.select().from(allocations).where(eq(allocations.name, node.name))).toHaveLength(1);
    expect(await db.select().from(siteNodes).where(eq(siteNodes.name, node.name))).toHaveLength(1);
    expect(
      await db
        .select()
        .from(ports)
        .where(eq(ports.nodeUuid, await uuidOf(node.name))),
    ).toHaveLength(1);
    if (!dying.isDead()) break;
    deaths += 1;
  }
  expect(deaths).toBeGreaterThan(8);
}, 120_000);

test('a node is torn down once, whatever dies; each action does it anew', async () => {
  const node = newNode();
  const first = newAction();
  for (const phase of ['prepare', 'deploy'] as const) await run([node], { action: first, phase });
  const teardown = { ...teardownOrder, kubernetes: false, etcd: false };
  let deaths = 0;
  for (let writes = 1; writes < 100; writes += 1) {
    const action = newAction();
    const before = (await operator.node(node.name))['instance_uuid'];
    const dying = dyingAfter(writes, conductor.context());
    for (const phase of ['prepare', 'deploy'] as const) {
      const outcome = await waitUntil(
        phase,
        async () => {
          const context = dying.isDead() ? conductor.context() : dying.context;
          const outcomes = await beat([node], { action, phase, teardown }, context).catch((error: unknown) => {
            if (dying.isDead()) return new Map<string, NodeOutcome>();
            throw error;
          });
          const found = outcomes.get(node.name);
          return found?.state === 'working' ? undefined : found;
        },
        { timeoutMs: 60_000, everyMs: 10 },
      );
      expect({ writes, phase, outcome }).toMatchObject({ outcome: { state: 'done' } });
    }
    const rows = await conductor.context().db.select().from(flows).where(eq(flows.actionId, action.id));
    const kinds = rows.toSorted((a, b) => Number(a.startedAt) - Number(b.startedAt)).map(({ kind }) => kind);
    expect(kinds).toEqual(['teardown', 'wipe', 'deploy']);
    expect((await operator.node(node.name))['instance_uuid']).not.toBe(before);
    if (!dying.isDead()) break;
    deaths += 1;
  }
  expect(deaths).toBeGreaterThan(4);
}, 120_000);

test('two conductors at once do nothing twice', async () => {
  const given = Array.from({ length: 3 }, () => newNode());
  const action = newAction();
  for (const phase of ['prepare', 'deploy'] as const) {
    const runs = await Promise.all([run(given, { action, phase }), run(given, { action, phase })]);
    for (const outcomes of runs) for (const [, outcome] of outcomes) expect(outcome.state).toBe('done');
  }
  for (const { name } of given) expect(await flowsOf(name)).toEqual(wholeWay);
}, 60_000);

/** A context whose database goes away for good after so many writes, the last of which is committed. */
function dyingAfter(writes: number, context: ConductorContext) {
  let left = writes;
  const isDead = () => left <= 0;
  const die = () => {
    throw new Error('the conductor died here');
  };
  const db = new Proxy(context.db, {
    get: (target, key) => {
      if (isDead()) die();
      const value: unknown = Reflect.get(target, key);
      if (key !== 'transaction' && key !== 'insert') return typeof value === 'function' ? value.bind(target) : value;
      return (...given: unknown[]) => {
        left -= 1;
        if (key === 'insert' && isDead()) die();
        const result: unknown = Reflect.apply(value as () => unknown, target, given);
        return key === 'insert' ? result : Promise.resolve(result).then((answer) => (isDead() ? die() : answer));
      };
    },
  });
  return { context: { ...context, db }, isDead };
}

describe('a node that is not what it should be', () => {
  test('with somebody’s instance, or owner, fails and is left as it is', async () => {
    const node = newNode();
    const owned = newNode();
    const rows = [
      { name: node.name, instanceUuid: crypto.randomUUID() },
      { name: owned.name, owner: 'team-a' },
    ].map((more) => ({
      uuid: crypto.randomUUID(),
      driver: 'fake-hardware',
      networkInterface: 'noop',
      provisionState: 'available' as const,
      ...more,
    }));
    const { db } = conductor.context();
    await db.insert(nodes).values(rows);
    const outcomes = await beat([node, owned], { action: newAction(), phase: 'prepare' });
    expect(outcomes.get(node.name)).toMatchObject({ state: 'failed', error: expect.stringContaining('instance') });
    expect(outcomes.get(owned.name)).toEqual({ state: 'failed', error: 'it belongs to team-a' });
    for (const { uuid } of rows) {
      expect(await db.select().from(nodes).where(eq(nodes.uuid, uuid))).toMatchObject([{ updatedAt: null, extra: {} }]);
    }
  });

  test('whose port is another node’s fails, and says whose it is', async () => {
    const node = newNode();
    await run([node], { action: newAction(), phase: 'prepare' });
    const twin = newNode({ ports: node.ports });
    const [outcome] = (await run([twin], { action: newAction(), phase: 'prepare' })).values();
    expect(outcome).toMatchObject({ state: 'failed', error: expect.stringContaining(node.ports[0]?.address ?? '') });
  });

  test('whose credential nobody has stored fails by name', async () => {
    const node = newNode({ credential: 'nobody' });
    const [outcome] = (await run([node], { action: newAction(), phase: 'prepare' })).values();
    expect(outcome).toMatchObject({ state: 'failed', error: expect.stringContaining("credential 'nobody'") });
  });

  test('is the site’s or not whatever its allocation’s extra says, which clients write', async () => {
    const { db } = conductor.context();
    const [ours, theirs] = [newNode(), newNode()];
    await run([ours], { action: newAction(), phase: 'prepare' });
    await db.update(allocations).set({ extra: {} }).where(eq(allocations.name, ours.name));
    const [kept] = (await run([ours], { action: newAction(), phase: 'prepare' })).values();
    expect(kept).toEqual({ state: 'done', remark: 'it was prepared already' });

    const uuid = crypto.randomUUID();
    const feigned = { name: theirs.name, resourceClass: 'big', extra: { site_action: 'action-1' } };
    await db.insert(nodes).values({
      uuid: crypto.randomUUID(),
      name: theirs.name,
      driver: 'fake-hardware',
      networkInterface: 'noop',
      provisionState: 'available',
      instanceUuid: uuid,
    });
    await db.insert(allocations).values({ ...feigned, uuid, state: 'active' });
    const [foreign] = (await run([theirs], { action: newAction(), phase: 'prepare' })).values();
    expect(foreign).toMatchObject({ state: 'failed', error: expect.stringContaining('is not the site') });
  });

  test('is reserved though a stranger’s allocation has its name', async () => {
    const { db } = conductor.context();
    const node = newNode();
    const stranger = { name: node.name, resourceClass: 'other', owner: 'tenant', state: 'error' as const };
    await db.insert(allocations).values({ ...stranger, uuid: crypto.randomUUID() });
    const action = newAction();
    const done = new Map([[node.name, { state: 'done' }]]);
    expect(await run([node], { action, phase: 'prepare' })).toEqual(done);
    expect(await run([node], { action, phase: 'deploy' })).toEqual(done);
    const made = await db.select().from(allocations).where(eq(allocations.actionId, action.id));
    expect(made).toMatchObject([{ name: null, nodeUuid: await uuidOf(node.name), state: 'active' }]);
  });

  test('is brought in line where it is prepared already, and says that it was', async () => {
    const node = newNode();
    await run([node], { action: newAction(), phase: 'prepare' });
    const moved = { ...node, rack: 'r2', traits: ['CUSTOM_OTHER'] };
    const [outcome] = (await run([moved], { action: newAction(), phase: 'prepare' })).values();
    expect(outcome).toEqual({ state: 'done', remark: 'it was prepared already' });
    expect(await operator.node(node.name)).toMatchObject({ properties: { rack: 'r2' }, traits: ['CUSTOM_OTHER'] });
    expect(await flowsOf(node.name)).toEqual(['clean succeeded', 'verify succeeded']);
  });
});

describe('verify and relabel', () => {
  const action = newAction();

  test('a node that is not enrolled is looked at as its document describes it', async () => {
    const node = newNode();
    const reports = await verifyNodes(conductor.context(), { action, site: siteOf([node]), names: [node.name, 'no'] });
    expect(reports.get(node.name)).toEqual({
      state: 'done',
      findings: ['it is not enrolled yet, which prepare does'],
      differs: ['not enrolled'],
    });
    expect(reports.get('no')).toMatchObject({ state: 'failed' });
  });

  test('what differs is found by one and, as far as it is labels, changed by the other', async () => {
    const node = newNode();
    await run([node], { action: newAction(), phase: 'prepare' });
    const site = siteOf([{ ...node, rack: 'r9', labels: { zone: 'b' }, resourceClass: 'small' }]);
    const verify = () => verifyNodes(conductor.context(), { action, site, names: [node.name] });
    const differing = 'not as its document says: properties/rack, extra/labels, resource_class';
    expect((await verify()).get(node.name)).toMatchObject({
      state: 'done',
      findings: [expect.stringContaining('power'), "in 'available'", differing],
      differs: ['properties/rack', 'extra/labels', 'resource_class'],
    });
    const relabel = () => relabelNodes(conductor.context(), { action, site, names: [node.name] });
    expect((await relabel()).get(node.name)).toEqual({
      state: 'done',
      findings: ['changed properties/rack', 'changed extra/labels', 'changed resource_class'],
    });
    expect((await verify()).get(node.name)?.findings).not.toContain(differing);
    expect((await relabel()).get(node.name)).toMatchObject({ remark: 'it was so already' });
  });

  test('a BMC that does not answer is a fault', async () => {
    await putCredential(conductor.context(), 'bmc', { username: 'a', password: 'b' }, undefined);
    const driverInfo = { redfish_address: 'http://127.0.0.1:9' };
    const node = newNode({ driver: 'redfish', driverInfo, credential: 'bmc' });
    const reports = await verifyNodes(conductor.context(), { action, site: siteOf([node]), names: [node.name] });
    expect(reports.get(node.name)).toMatchObject({ state: 'failed', error: expect.stringContaining('its BMC: ') });
  });
});
