import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { allocationResource, getAllocation, insertAllocations } from '#conductor/allocations/allocation-store.ts';
import { createAllocations, tryAllocation } from '#conductor/allocations/create-allocation.ts';
import { listRefusals, type Requirements } from '#conductor/allocations/match.ts';
import { readAll, readFitting } from '#conductor/allocations/read-candidates.ts';
import { pruneFailedAllocations } from '#conductor/allocations/work-store.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { type NodeInsert, nodes } from '#conductor/kernel/db/schema/node.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { capacityChannel } from '#conductor/nodes/notify-capacity.ts';
import { listRows } from '#conductor/nodes/resources/resource-store.ts';
import { addTraits } from '#conductor/nodes/traits.ts';
import * as fc from '#test/fuzz/fast-check.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { eventually } from '#test/support/eventually.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const addNode = (name: string, more: Partial<NodeInsert> = {}) => addAvailableNode(api.context.db, name, more);
const ask = (more: Record<string, unknown> = {}) =>
  api.call('POST', '/v1/allocations', { resource_class: 'big', ...more });
const members = async () => {
  await api.context.allocator.idle();
  return listRows(api.context.db, allocationResource, {}, { limit: 100, sortKey: 'id', descending: false });
};
const states = async () => (await members()).map(({ state }) => state);

describe('several at once', () => {
  test('share a group, and have names of their own', async () => {
    for (const name of ['n1', 'g-1', 'n3']) await addNode(name);
    const { status, body } = await ask({ count: 3, name: 'g' });
    expect(status).toBe(201);
    const made = body['allocations'] as Record<string, unknown>[];
    expect(made.map(({ name }) => name)).toEqual(['g-0', 'g-1', 'g-2']);
    expect(new Set(made.map((row) => row['group_uuid'])).size).toBe(1);
    const rows = await members();
    expect(rows.map(({ state }) => state)).toEqual(['active', 'active', 'active']);
    const [namesake] = await api.context.db.select().from(nodes).where(eq(nodes.name, 'g-1'));
    expect(rows[1]?.nodeUuid).toBe(namesake?.uuid);
  });

  test('all or none: too few nodes are left alone', async () => {
    await addNode('n1');
    await ask({ count: 2 });
    const rows = await members();
    expect(rows.map(({ state }) => state)).toEqual(['error', 'error']);
    expect(rows[0]?.lastError).toBe('1 of 2 nodes of resource class big are available');
    expect((await readAll(api.context.db, undefined)).filter(({ instanceUuid }) => instanceUuid !== null)).toEqual([]);
  });

  test('or min_count: the rest ends in error and says why', async () => {
    await addNode('n1');
    await addNode('n2');
    await ask({ count: 3, min_count: 2 });
    expect(await states()).toEqual(['active', 'active', 'error']);
    expect((await members())[2]?.lastError).toContain('only 2 of 3 nodes could be had');
  });

  test('spread and pack over racks, by properties or extra', async () => {
    for (const rack of ['a', 'b', 'c']) {
      await addNode(`${rack}1`, { properties: { rack } });
      await addNode(`${rack}2`, { extra: { rack } });
    }
    const racksOf = async (placement: string, count: number) => {
      const nodesNow = await readAll(api.context.db, undefined);
      const { body } = await ask({ count, placement, dry_run: true });
      const chosen = body['nodes'] as { uuid: string; rack: string }[];
      expect(chosen.every(({ uuid, rack }) => nodesNow.find((node) => node.uuid === uuid)?.rack === rack)).toBe(true);
      return chosen.map(({ rack }) => rack).sort();
    };
    for (let index = 0; index < 6; index += 1) {
      await addNode(`x${index}`, { properties: { rack: 'x' } });
    }
    expect(await racksOf('spread', 4)).toEqual(['a', 'b', 'c', 'x']);
    expect(await racksOf('pack', 6)).toEqual(['x', 'x', 'x', 'x', 'x', 'x']);
    expect(new Set(await racksOf('pack', 2)).size).toBe(1);
  });
});

describe('waiting', () => {
  test('for a node that comes: the allocation says what it waits for, and is woken', async () => {
    const uuid = await addNode('n1', { maintenance: true });
    const asked = await ask({ wait: 60 });
    expect(asked.body['wait_until']).toEqual(expect.any(String));
    await api.context.allocator.idle();
    expect((await api.call('GET', `/v1/allocations/${asked.uuid}`)).body).toMatchObject({
      state: 'allocating',
      waiting_for: 'no available nodes match the resource class big (1 nodes of the class: 1 in maintenance)',
    });
    await updateNode(api.context.db, uuid, { maintenance: false });
    api.context.allocator.kick();
    expect(await states()).toEqual(['active']);
    expect((await members())[0]?.waitingFor).toBeNull();
  });

  test('is told only of nodes that may fit now', async () => {
    const heard: string[] = [];
    const { database } = api.context;
    await database.listen(capacityChannel, (payload) => void heard.push(payload));
    const heardAfter = async (asked: Promise<{ readonly status: number }>): Promise<number> => {
      expect([200, 202]).toContain((await asked).status);
      // what was sent before it has come by the time it comes
      await database.notify(capacityChannel, 'last');
      await expect.poll(() => heard).toContain('last');
      return heard.splice(0).length - 1;
    };
    const change = (node: string, path: string, value: unknown): Promise<number> =>
      heardAfter(api.call('PATCH', `/v1/nodes/${node}`, [{ op: 'add', path, value }]));
    await addNode('kept', { maintenance: true });
    await addNode('free', { resourceClass: 'other' });
    await insertAllocations(api.context.db, [
      { uuid: crypto.randomUUID(), state: 'allocating', resourceClass: 'big', conductor: 'another' },
    ]);
    expect(await change('kept', '/owner', 'p1')).toBe(0);
    expect(await change('free', '/owner', 'p1')).toBe(0);
    expect(await change('free', '/resource_class', 'big')).toBe(1);
    expect(await change('free', '/extra/a', 1)).toBe(0);
    expect(await change('kept', '/maintenance', false)).toBe(1);
    expect(await heardAfter(api.call('PUT', '/v1/nodes/kept/maintenance', {}))).toBe(0);
    expect(await heardAfter(api.call('DELETE', '/v1/nodes/kept/maintenance'))).toBe(1);
  });

  test('in vain: the deadline ends it, without waiting for the period', async () => {
    await ask({ wait: 0.05 });
    await eventually(async () => expect(await states()).toEqual(['error']));
    expect((await members())[0]?.lastError).toBe(
      'the wait ended without a node: no available nodes match the resource class big',
    );
  });

  test('the oldest is served first', async () => {
    for (const name of ['old', 'young']) await ask({ wait: 60, name });
    await api.context.allocator.idle();
    const uuid = await addNode('n1');
    await ask({ name: 'youngest' });
    await members();
    expect(await getAllocation(api.context.db, 'old')).toMatchObject({ nodeUuid: uuid });
  });

  test('a group waits for all, and takes min_count at the deadline', async () => {
    await addNode('n1');
    await ask({ count: 2, min_count: 1, wait: 0.3 });
    expect(await states()).toEqual(['allocating', 'allocating']);
    await eventually(async () => expect(await states()).toEqual(['active', 'error']));
  });
});

test('dry_run tells which nodes it would be, and why each other is refused', async () => {
  const good = await addNode('good', { properties: { rack: 12 } });
  await addNode('busy', { maintenance: true, instanceUuid: crypto.randomUUID() });
  await addNode('locked').then((uuid) => claimLease(api.context.db, uuid, { holder: 'x', leaseMs: 60_000 }));
  const tried = await ask({ dry_run: true, name: 'a' });
  expect(tried.status).toBe(200);
  expect(tried.body).toMatchObject({
    dry_run: true,
    nodes: [{ uuid: good, name: 'good', rack: '12' }],
    error: null,
    refused: [
      { name: 'busy', reasons: ['is in maintenance', expect.stringContaining('has instance')] },
      { name: 'locked', reasons: ['is locked by a conductor at work, which is waited for'] },
    ],
  });
  expect((await ask({ dry_run: true, resource_class: 'small' })).body).toMatchObject({
    nodes: [],
    error: 'no available nodes match the resource class small',
  });
  expect(await members()).toEqual([]);
});

test('dry_run refuses what the request itself would be refused for', async () => {
  const instanceUuid = crypto.randomUUID();
  await addNode('used', { instanceUuid });
  const { uuid } = await ask({ name: 'a-1' });
  const tried = async (more: Record<string, unknown>) => {
    const [dry, earnest] = [await ask({ ...more, dry_run: true }), await ask(more)];
    expect([dry.status, dry.fault]).toEqual([earnest.status, earnest.fault]);
    return dry.status;
  };
  expect(await tried({ uuid })).toBe(409);
  expect(await tried({ name: 'a', count: 2 })).toBe(409);
  expect(await tried({ uuid: instanceUuid })).toBe(409);
});

describe('whose', () => {
  const bound = { user: 'u', role: 'member' as const, project: 'p1' };
  const options = { caller: bound, version: 96 };

  test("a caller of a project asks for its own project's nodes", async () => {
    const [row] = await createAllocations(api.context, { resource_class: 'big' }, options);
    expect(row?.owner).toBe('p1');
    await expect(createAllocations(api.context, { resource_class: 'big', owner: 'p2' }, options)).rejects.toThrow(
      'Cannot create allocation with owner p2 for project p1.',
    );
    const [free] = await createAllocations(
      api.context,
      { resource_class: 'big', name: 'free' },
      { ...options, caller: openApiCaller },
    );
    expect(free?.owner).toBeNull();
    await expect(getAllocation(api.context.db, 'free', 'p1')).rejects.toThrow('Allocation free could not be found.');
    expect(await getAllocation(api.context.db, row?.uuid ?? '', 'p1')).toMatchObject({ owner: 'p1' });
  });

  test('a dry run tells a caller of a project nothing of others', async () => {
    await addNode('mine', { owner: 'p1' });
    await addNode('leased', { lessee: 'p1', maintenance: true });
    await addNode('other', { owner: 'p2' });
    const answer = await tryAllocation(api.context.db, { resource_class: 'big' }, options);
    expect(answer.nodes.map(({ name }) => name)).toEqual(['mine']);
    expect(answer.refused.map(({ name }) => name)).toEqual(['leased']);
  });

  test("errors neither name nor count nodes of another project's, asked for or not", async () => {
    const other = await addNode('other', { owner: 'p2' });
    await addNode('busy', { owner: 'p2', provisionState: 'active', instanceUuid: crypto.randomUUID() });
    const request = (more: object) => createAllocations(api.context, { resource_class: 'big', ...more }, options);
    await request({});
    const [row] = await members();
    expect(row?.lastError).toBe(
      'no available nodes match the resource class big (0 nodes of the class that belong or are leased to the owner)',
    );
    // in the words for a node that is not there
    const uuid = crypto.randomUUID();
    for (const ident of ['other', other, 'none', uuid]) {
      await expect(request({ candidate_nodes: [ident] })).rejects.toThrow(
        `candidate_nodes: Node ${ident} could not be found.`,
      );
      await expect(request({ node: ident })).rejects.toThrow(`node: Node ${ident} could not be found.`);
    }
  });
});

test('the database finds just the nodes that nothing stands against', async () => {
  const traits = ['CUSTOM_A', 'CUSTOM_B'] as const;
  const project = fc.constantFrom('p1', 'p2', null);
  const some = fc.record({
    resourceClass: fc.constantFrom('big', 'small', null),
    provisionState: fc.constantFrom('available', 'active', 'enroll') as fc.Arbitrary<'available'>,
    maintenance: fc.boolean(),
    retired: fc.boolean(),
    powerState: fc.constantFrom('power off', null) as fc.Arbitrary<'power off'>,
    health: fc.constantFrom('OK', 'Critical', null),
    instanceUuid: fc.option(fc.uuid()),
    owner: project,
    lessee: project,
  });
  // most of them fit, so that each condition decides for some
  const drawn = fc.sample(fc.tuple(some, fc.subarray([...traits]), fc.nat(8)), { numRuns: 120, seed: 4 });
  for (const [index, [odd, has, which]] of drawn.entries()) {
    const [key = 'owner', value] = Object.entries(odd)[which] ?? [];
    const uuid = await addNode(`n${index}`, { owner: 'p1', [key]: value });
    await addTraits(api.context.db, uuid, has);
  }
  const all = await readAll(api.context.db, undefined);
  const anyRequirements = fc.record<Requirements>({
    resourceClass: fc.constantFrom('big', 'small'),
    traits: fc.subarray([...traits]),
    candidateNodes: fc.oneof(
      fc.constant([]),
      fc.subarray(
        all.slice(0, 40).map(({ uuid }) => uuid),
        { minLength: 1 },
      ),
    ),
    owner: project,
  });
  await fc.assert(
    fc.asyncProperty(anyRequirements, async (requirements) => {
      const found = await readFitting(api.context.db, requirements, { names: [], needed: 1, limit: undefined });
      const expected = all.filter((node) => listRefusals(node, requirements).length === 0);
      expect(found.map(({ uuid }) => uuid).sort()).toEqual(expected.map(({ uuid }) => uuid).sort());
    }),
    { numRuns: 40 },
  );
});

test('a failed allocation is kept for as long as the configuration says', async () => {
  await ask({ name: 'old' });
  await ask({ name: 'new' });
  await members();
  await api.context.db
    .update(allocations)
    .set({ updatedAt: sql`now() - interval '8 days'` })
    .where(eq(allocations.name, 'old'));
  await pruneFailedAllocations(api.context);
  expect(await members()).toHaveLength(2);
  await pruneFailedAllocations({ ...api.context, config: { ...api.context.config, allocationErrorDays: 7 } });
  expect((await members()).map(({ name }) => name)).toEqual(['new']);
});
