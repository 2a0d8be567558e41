import { eq, inArray } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { actOnNode } from '#conductor/sites/nodes/act-on-node.ts';
import { advanceNodes, type Turn } from '#conductor/sites/nodes/advance-nodes.ts';
import { readFacts } from '#conductor/sites/nodes/read-facts.ts';
import { writesImage } from '#conductor/sites/nodes/testing/writes-image.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type FakeSite, newAction, newSiteNode, siteOf, startFakeSite } from '#test/support/fake-site.ts';

let site: FakeSite;
beforeAll(async () => {
  site = await startFakeSite();
});
afterAll(() => site.close());

const wholeWay = ['clean succeeded', 'deploy succeeded', 'verify succeeded'];

test('many nodes at a time go from nothing to active', async () => {
  const given = Array.from({ length: 6 }, () => newSiteNode());
  const action = newAction();
  const done = new Map(given.map(({ name }) => [name, { state: 'done' }]));
  expect(await site.run(given, { action, phase: 'prepare' })).toEqual(done);
  expect(await site.run(given, { action, phase: 'deploy' })).toEqual(done);
  for (const { name } of given) expect(await site.flowsOf(name)).toEqual(wholeWay);
});

test('of many nodes without a flow a part has its turn in a beat, and all of them have it in some beats', async () => {
  const given = Array.from({ length: 130 }, () => newSiteNode());
  const orders = given.map((node) => ({ node, phase: 'prepare' as const }));
  const action = newAction();
  const beat = async () => {
    const turns: Turn[] = [];
    const onTurn = (turn: Turn): void => void turns.push(turn);
    const work = { action, site: siteOf(given), orders, onTurn, mayTakeMs: 0 };
    const outcomes = await advanceNodes(site.context(), work);
    return { looked: outcomes.size, turns };
  };
  const first = await beat();
  expect(first.looked).toBe(128);
  expect(first.turns).toMatchObject([{ isBehind: true }]);
  const enrolled = async () => {
    await beat();
    const names = given.map(({ name }) => name);
    const { db } = site.context();
    return (await db.$count(nodes, inArray(nodes.name, names))) === names.length || undefined;
  };
  await waitUntil('all to be enrolled', enrolled, { timeoutMs: 240_000, everyMs: 1 });
});

test('two conductors at once do nothing twice', async () => {
  const given = Array.from({ length: 3 }, () => newSiteNode());
  const action = newAction();
  for (const phase of ['prepare', 'deploy'] as const) {
    const runs = await Promise.all([site.run(given, { action, phase }), site.run(given, { action, phase })]);
    for (const outcomes of runs) for (const [, outcome] of outcomes) expect(outcome.state).toBe('done');
  }
  for (const { name } of given) expect(await site.flowsOf(name)).toEqual(wholeWay);
});

test('what was decided before another conductor was faster is not done again', async () => {
  const node = newSiteNode();
  const action = newAction();
  const order = { node, phase: 'prepare' as const };
  const context = { ...site.context(), run: writesImage };
  const work = { action, site: siteOf([node]), pluginSteps: () => Promise.resolve([]) };
  // enrolled; `manage` is legal here, and once more when the node is available
  await site.beat([node], { action, phase: 'prepare' });
  const read = (await readFacts(context, work, [order])).get(node.name);
  expect(read?.facts.node?.provisionState).toBe('enroll');
  await site.run([node], { action, phase: 'prepare' });
  const late = actOnNode(
    context,
    work,
    { order, facts: read?.facts ?? {}, design: read?.design },
    { kind: 'verb', verb: 'manage' },
  );
  await expect(late).rejects.toMatchObject({ code: 'conflict' });
  expect(await site.flowsOf(node.name)).toEqual(['clean succeeded', 'verify succeeded']);
  expect(await site.operator.node(node.name)).toMatchObject({ provision_state: 'available' });
});

describe('a node that is not what it should be', () => {
  test('with somebody’s instance, or owner, fails and is left as it is', async () => {
    const node = newSiteNode();
    const owned = newSiteNode();
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
    const { db } = site.context();
    await db.insert(nodes).values(rows);
    const outcomes = await site.beat([node, owned], { action: newAction(), phase: 'prepare' });
    expect(inWords(outcomes.get(node.name))).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('instance'),
    });
    expect(inWords(outcomes.get(owned.name))).toEqual({ state: 'failed', error: 'it belongs to team-a' });
    for (const { uuid } of rows) {
      expect(await db.select().from(nodes).where(eq(nodes.uuid, uuid))).toMatchObject([{ updatedAt: null, extra: {} }]);
    }
  });

  test('whose port is another node’s fails, and says whose it is', async () => {
    const node = newSiteNode();
    await site.run([node], { action: newAction(), phase: 'prepare' });
    const twin = newSiteNode({ ports: node.ports });
    const [outcome] = (await site.run([twin], { action: newAction(), phase: 'prepare' })).values();
    const error = `port ${node.ports[0]?.address} of its document belongs to node ${node.name}`;
    expect(inWords(outcome)).toEqual({ state: 'failed', error });
  });

  test('that can not be deployed is neither enrolled nor cleaned', async () => {
    const node = newSiteNode({ driver: 'redfish', driverInfo: { redfish_address: 'http://127.0.0.1:9' } });
    const free = newSiteNode({ ports: [] });
    await site.operator.call('POST', '/v1/nodes', { name: free.name, driver: 'redfish' });
    const never = { ...free, driver: 'redfish' };
    const outcomes = await site.beat([node, never], { action: newAction(), phase: 'prepare' });
    const failed = { state: 'failed', error: expect.stringContaining('no platform.image') as unknown };
    for (const { name } of [node, never]) expect(inWords(outcomes.get(name))).toEqual(failed);
    await expect(site.operator.node(node.name)).rejects.toThrow(/404/);
    expect(await site.flowsOf(never.name)).toEqual([]);
  });

  test('whose credential nobody has stored fails by name', async () => {
    const node = newSiteNode({ credential: 'nobody' });
    const [outcome] = (await site.run([node], { action: newAction(), phase: 'prepare' })).values();
    expect(inWords(outcome)).toMatchObject({ state: 'failed', error: expect.stringContaining("credential 'nobody'") });
  });

  test('is the site’s or not whatever its allocation’s extra says, which clients write', async () => {
    const { db } = site.context();
    const [ours, theirs] = [newSiteNode(), newSiteNode()];
    await site.run([ours], { action: newAction(), phase: 'prepare' });
    await db.update(allocations).set({ extra: {} }).where(eq(allocations.name, ours.name));
    const [kept] = (await site.run([ours], { action: newAction(), phase: 'prepare' })).values();
    expect(inWords(kept)).toEqual({ state: 'done', remark: 'it was prepared already' });

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
    const [foreign] = (await site.run([theirs], { action: newAction(), phase: 'prepare' })).values();
    expect(inWords(foreign)).toMatchObject({ state: 'failed', error: expect.stringContaining('is not the site') });
  });

  test('is reserved though a stranger’s allocation has its name', async () => {
    const { db } = site.context();
    const node = newSiteNode();
    const stranger = { name: node.name, resourceClass: 'other', owner: 'tenant', state: 'error' as const };
    await db.insert(allocations).values({ ...stranger, uuid: crypto.randomUUID() });
    const action = newAction();
    const done = new Map([[node.name, { state: 'done' }]]);
    expect(await site.run([node], { action, phase: 'prepare' })).toEqual(done);
    expect(await site.run([node], { action, phase: 'deploy' })).toEqual(done);
    const made = await db.select().from(allocations).where(eq(allocations.actionId, action.id));
    expect(made).toMatchObject([{ name: null, nodeUuid: await site.uuidOf(node.name), state: 'active' }]);
  });

  test('is brought in line where it is prepared already, and says that it was', async () => {
    const node = newSiteNode();
    await site.run([node], { action: newAction(), phase: 'prepare' });
    const moved = { ...node, rack: 'r2', traits: ['CUSTOM_OTHER'] };
    const [outcome] = (await site.run([moved], { action: newAction(), phase: 'prepare' })).values();
    expect(inWords(outcome)).toEqual({ state: 'done', remark: 'it was prepared already' });
    expect(await site.operator.node(node.name)).toMatchObject({ properties: { rack: 'r2' }, traits: ['CUSTOM_OTHER'] });
    expect(await site.flowsOf(node.name)).toEqual(['clean succeeded', 'verify succeeded']);
  });

  test('with another driver by now has its interfaces, and nothing of the old login', async () => {
    const dead = { redfish_address: 'http://127.0.0.1:9', redfish_username: 'root', redfish_password: 'secret' };
    const instanceInfo = { image_source: 'http://images.example/os.raw', image_checksum: '0'.repeat(32) };
    const node = newSiteNode({ driver: 'redfish', driverInfo: dead, instanceInfo });
    await site.beat([node], { action: newAction(), phase: 'prepare' });
    expect(await site.operator.node(node.name)).toMatchObject({ driver: 'redfish', deploy_interface: 'direct' });
    const mended = { ...node, driver: 'fake-hardware', driverInfo: { fake_id: node.name } };
    const action = newAction();
    const done = new Map([[node.name, { state: 'done' }]]);
    expect(await site.run([mended], { action, phase: 'prepare' })).toEqual(done);
    expect(await site.operator.node(node.name)).toMatchObject({
      driver: 'fake-hardware',
      deploy_interface: 'fake',
      power_interface: 'fake',
    });
    expect(Object.keys((await site.operator.node(node.name))['driver_info'] ?? {})).toEqual(['fake_id']);
    expect(await site.run([mended], { action, phase: 'deploy' })).toEqual(done);
  });
});
