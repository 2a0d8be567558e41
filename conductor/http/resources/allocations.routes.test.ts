import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { type AllocationDesk, openAllocationDesk } from '#test/support/allocation-desk.ts';
import { eventually } from '#test/support/eventually.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let desk: AllocationDesk;
beforeAll(async () => {
  api = await openTestApi();
  desk = openAllocationDesk(api);
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const containing = (text: string) => expect.stringContaining(text) as unknown;
const traitA = 'CUSTOM_A';
const traitB = 'CUSTOM_B';

describe('asking', () => {
  test('answers at once, and the conductor finds the node in the background', async () => {
    const node = await desk.addNode('one', {}, [traitA, traitB]);
    const asked = await desk.ask({ name: 'a', traits: [traitA], extra: { why: 'test' } });
    expect(asked.status).toBe(201);
    expect(asked.headers.get('Location')).toBe(`http://api.example/v1/allocations/${asked.uuid}`);
    expect(asked.body).toEqual({
      uuid: asked.uuid,
      name: 'a',
      state: 'allocating',
      node_uuid: null,
      last_error: null,
      resource_class: 'big',
      traits: [traitA],
      candidate_nodes: [],
      extra: { why: 'test' },
      owner: null,
      created_at: expect.any(String) as unknown,
      updated_at: null,
      links: expect.any(Array) as unknown,
    });
    await api.context.allocator.idle();
    expect(await desk.show('a')).toMatchObject({ uuid: asked.uuid, state: 'active', node_uuid: node });
    expect((await api.call('GET', '/v1/nodes/one')).body).toMatchObject({
      instance_uuid: asked.uuid,
      allocation_uuid: asked.uuid,
      instance_info: { traits: [traitA] },
      reservation: null,
    });
    expect((await api.call('GET', '/v1/nodes/one', undefined, '1.51')).body).not.toHaveProperty('allocation_uuid');
    const history = await api.call('GET', '/v1/nodes/one/history');
    expect(JSON.stringify(history.body)).toContain('given to allocation a');
    expect((await api.call('DELETE', '/v1/allocations/a')).status).toBe(204);
    expect((await api.call('GET', '/v1/nodes/one')).body).toMatchObject({
      instance_uuid: null,
      allocation_uuid: null,
      instance_info: { traits: [traitA] },
    });
  });

  test('a node named like the allocation comes first, and a wrong one never comes', async () => {
    for (const name of ['n1', 'n2', 'n3', 'n4', 'n5']) await desk.addNode(name);
    const wanted = await getNode(api.context.db, 'n4');
    expect(await desk.outcome(desk.ask({ name: 'n4' }))).toMatchObject({ node_uuid: wanted.uuid });
    const { uuid } = await getNode(api.context.db, 'n2');
    expect(await desk.outcome(desk.ask({ candidate_nodes: ['n2'] }))).toMatchObject({
      node_uuid: uuid,
      candidate_nodes: [uuid],
    });
  });

  test.each([
    ['of another class', { resource_class: 'small' }, {}, 'no available nodes match the resource class small'],
    [
      'in maintenance',
      {},
      { maintenance: true },
      'no available nodes match the resource class big (1 nodes of the class: 1 in maintenance)',
    ],
    [
      'of another owner',
      { owner: 'p2' },
      { owner: 'p1' },
      '(0 nodes of the class that belong or are leased to the owner)',
    ],
    [
      'without the traits',
      { traits: [traitA, traitB] },
      {},
      'no suitable nodes have the requested traits CUSTOM_A, CUSTOM_B',
    ],
    [
      'no candidate',
      { candidate_nodes: ['one'], resource_class: 'small' },
      {},
      'none of the requested nodes are available and match the resource class small',
    ],
  ])('a node %s is refused in words', async (_, request, node, words) => {
    await desk.addNode('one', node, [traitA]);
    expect(await desk.outcome(desk.ask(request))).toMatchObject({
      state: 'error',
      node_uuid: null,
      last_error: containing(words),
    });
  });

  test('an owner gets nodes that it owns or leases', async () => {
    await desk.addNode('other', { owner: 'p2' });
    const mine = await desk.addNode('mine', { owner: 'p1' });
    const leased = await desk.addNode('leased', { owner: 'p2', lessee: 'p1' });
    const got = [await desk.outcome(desk.ask({ owner: 'p1' })), await desk.outcome(desk.ask({ owner: 'p1' }))];
    expect(new Set(got.map((row) => row['node_uuid']))).toEqual(new Set([mine, leased]));
    expect(await desk.outcome(desk.ask({ owner: 'p1' }))).toMatchObject({ state: 'error' });
  });

  test('a locked node is tried again, and given up in the end', async () => {
    const uuid = await desk.addNode('one');
    const lease = await claimLease(api.context.db, uuid, { holder: 'somebody', leaseMs: 60_000 });
    expect(lease).toBeDefined();
    const asked = await desk.ask();
    await eventually(async () => {
      expect(await desk.show(asked.uuid)).toMatchObject({ state: 'error' });
    });
    expect((await desk.show(asked.uuid))['last_error']).toContain('could not reserve any of 1 suitable nodes');
    api.patience.patienceMs = 600_000;
    const second = await desk.ask();
    await api.context.allocator.idle();
    if (lease) await releaseLease(api.context.db, lease);
    await eventually(async () => {
      expect(await desk.show(second.uuid)).toMatchObject({ state: 'active', node_uuid: uuid });
    });
  });

  test('refuses what is not a request, naming the field', async () => {
    await desk.addNode('one');
    const refused = async (body: Record<string, unknown>) => {
      const { status, fault } = await api.call('POST', '/v1/allocations', body);
      return `${status} ${fault}`;
    };
    const big = { resource_class: 'big' };
    expect(await refused({})).toBe('400 Missing mandatory parameter: resource_class');
    expect(await refused({ ...big, node_uuid: 'x' })).toContain('400 Unexpected arguments: node_uuid');
    expect(await refused({ resource_class: 'x'.repeat(81) })).toContain('400 Invalid body: resource_class');
    expect(await refused({ ...big, traits: ['bad'] })).toContain('400 Invalid body: traits.0: must be CUSTOM_');
    expect(await refused({ ...big, name: 'aa:bb_cc' })).toContain(
      "400 Cannot create allocation with invalid name 'aa:bb_cc'",
    );
    expect(await refused({ ...big, name: '' })).toContain('400 Cannot create allocation');
    expect(await refused({ ...big, candidate_nodes: ['nope'] })).toBe(
      '400 candidate_nodes: Node nope could not be found.',
    );
    expect(await refused({ ...big, node: 'nope' })).toBe('400 node: Node nope could not be found.');
    expect(await refused({ ...big, wait: 0 })).toContain('400 Invalid body: wait: must be more than 0 seconds');
    expect(await refused({ ...big, wait: 'long' })).toContain('wait: must be a number of seconds');
    expect(await refused({ ...big, min_count: 1 })).toBe('400 min_count: it needs count');
    expect(await refused({ ...big, placement: 'spread' })).toBe('400 placement: it needs count');
    expect(await refused({ ...big, count: 2, placement: 'apart' })).toContain('placement: must be spread or pack');
    expect(await refused({ ...big, count: 2, min_count: 3 })).toBe('400 min_count: 3 is more than count, which is 2');
    expect(await refused({ ...big, count: 0 })).toContain('count');
    expect(await refused({ ...big, count: 1, uuid: crypto.randomUUID() })).toContain('400 uuid: with count');
    expect(await refused({ ...big, node: 'one', wait: 3 })).toContain('400 wait: it does not go with node');
    expect((await api.call('GET', '/v1/allocations')).body['allocations']).toEqual([]);
  });

  test('uuid and name stand once, and no uuid that is an instance', async () => {
    await desk.addNode('one');
    const uuid = crypto.randomUUID();
    await desk.outcome(desk.ask({ uuid, name: 'a' }));
    expect(await desk.ask({ uuid })).toMatchObject({ status: 409, fault: containing(uuid) });
    expect(await desk.ask({ name: 'a' })).toMatchObject({
      status: 409,
      fault: containing('with name a already exists'),
    });
    await desk.addNode('two');
    const instance = crypto.randomUUID();
    await api.call('PATCH', '/v1/nodes/two', [{ op: 'add', path: '/instance_uuid', value: instance }]);
    expect(await desk.ask({ uuid: instance })).toMatchObject({
      status: 409,
      fault: containing('is the instance_uuid of a node already'),
    });
  });

  test('each version has what it has', async () => {
    await desk.addNode('one');
    expect((await desk.ask({}, '1.51')).status).toBe(405);
    expect((await api.call('GET', '/v1/allocations', undefined, '1.51')).status).toBe(404);
    expect((await api.call('DELETE', '/v1/allocations/no', undefined, '1.51')).status).toBe(405);
    expect((await api.call('PATCH', '/v1/allocations/no', [], '1.56')).status).toBe(405);
    expect((await desk.ask({ node: 'one' }, '1.57')).status).toBe(400);
    expect((await desk.ask({ owner: 'p' }, '1.59')).status).toBe(406);
    expect((await api.call('GET', '/v1/allocations?owner=p', undefined, '1.59')).status).toBe(406);
    expect((await api.call('GET', '/v1/allocations?fields=owner', undefined, '1.59')).status).toBe(406);
    expect((await desk.ask({}, '1.59')).body).not.toHaveProperty('owner');
    expect((await api.call('PUT', '/v1/allocations', {})).status).toBe(405);
    for (const method of ['POST', 'PUT', 'PATCH']) {
      expect((await api.call(method, '/v1/nodes/one/allocation', {})).status).toBe(405);
    }
    expect((await api.call('GET', '/v1/nodes/one/allocation/x')).status).toBe(405);
    expect((await api.call('GET', '/v1/nodes/one/allocation', undefined, '1.51')).status).toBe(404);
  });
});

describe('reading', () => {
  test('lists filter, sort, page and choose fields', async () => {
    const node = await desk.addNode('one');
    await desk.outcome(desk.ask({ name: 'b', owner: 'p1', candidate_nodes: ['one'] }));
    await api.call('PATCH', '/v1/nodes/one', [{ op: 'add', path: '/owner', value: 'p1' }]);
    await desk.outcome(desk.ask({ name: 'a', resource_class: 'small' }));
    await desk.outcome(desk.ask({ name: 'c' }));
    const names = async (query: string) => {
      const { body, fault } = await api.call('GET', `/v1/allocations${query}`);
      return fault ?? (body['allocations'] as { name: string }[]).map(({ name }) => name);
    };
    expect(await names('')).toEqual(['b', 'a', 'c']);
    expect(await names('?sort_key=name&sort_dir=desc')).toEqual(['c', 'b', 'a']);
    expect(await names('?resource_class=small')).toEqual(['a']);
    expect(await names('?state=error')).toEqual(['b', 'a']);
    expect(await names('?owner=p1')).toEqual(['b']);
    expect(await names(`?node=${node}`)).toEqual(['c']);
    expect(await names('?node=nope')).toBe('node: Node nope could not be found.');
    expect(await names('?state=odd')).toContain('state: must be one of allocating, active, error');
    expect(await names('?sort_key=extra')).toContain('sort_key');
    expect(await names('?fields=bogus')).toBe("fields: an allocation has no field 'bogus'");
    expect(await names('?resource_class=')).toContain('resource_class: must not be empty');
    const [listed] = (await api.call('GET', '/v1/allocations?resource_class=small')).body['allocations'] as object[];
    const shown = (await api.call('GET', '/v1/allocations/a')).body;
    for (const each of [listed, shown])
      for (const own of ['wait_until', 'waiting_for', 'group_uuid']) expect(each).not.toHaveProperty(own);
    const asked = (await api.call('GET', '/v1/allocations/a?fields=uuid,wait_until')).body;
    expect(asked).toMatchObject({ wait_until: null });
    const page = await api.call('GET', '/v1/allocations?limit=2&fields=uuid,name');
    expect(page.body['next']).toMatch(/\/v1\/allocations\?limit=2&fields=uuid,name&marker=/);
    expect(Object.keys((page.body['allocations'] as object[])[0] ?? {})).toEqual(['uuid', 'name', 'links']);
    expect((await api.call('GET', '/v1/allocations/nope')).status).toBe(404);
  });

  test("a node's allocation: 404 without, 400 with an instance of another making", async () => {
    await desk.addNode('one');
    expect((await api.call('GET', '/v1/nodes/one/allocation')).status).toBe(404);
    expect((await api.call('DELETE', '/v1/nodes/one/allocation')).status).toBe(404);
    expect((await api.call('GET', '/v1/nodes/nope/allocation')).status).toBe(404);
    await desk.outcome(desk.ask({ name: 'a' }));
    expect((await api.call('GET', '/v1/nodes/one/allocation?fields=name')).body).toMatchObject({ name: 'a' });
    expect((await api.call('DELETE', '/v1/nodes/one/allocation')).status).toBe(204);
    const instance = crypto.randomUUID();
    await api.call('PATCH', '/v1/nodes/one', [{ op: 'add', path: '/instance_uuid', value: instance }]);
    expect(await api.call('GET', '/v1/nodes/one/allocation')).toMatchObject({
      status: 400,
      fault: containing(instance),
    });
  });
});

test('PATCH changes name and extra, and nothing else', async () => {
  const { uuid } = await desk.ask({ name: 'a' });
  await api.context.allocator.idle();
  await desk.ask({ name: 'b' });
  const patch = (...operations: object[]) => api.call('PATCH', `/v1/allocations/${uuid}`, operations);
  const set = (path: string, value: unknown) => ({ op: 'replace', path, value });
  expect((await patch(set('/name', 'c'), { op: 'add', path: '/extra/k', value: 1 })).body).toMatchObject({
    name: 'c',
    extra: { k: 1 },
  });
  expect(await patch(set('/name', 'b'))).toMatchObject({ status: 409 });
  expect(await patch(set('/name', '[x]'))).toMatchObject({ status: 400 });
  for (const field of ['uuid', 'owner', 'resource_class', 'state']) {
    expect(await patch(set(`/${field}`, 'x'))).toMatchObject({ status: 400, fault: containing(`/${field}`) });
  }
  expect((await patch({ op: 'remove', path: '/name' })).body).toMatchObject({ name: null });
  expect((await patch(set('/name', 'd'))).body).toMatchObject({ name: 'd' });
  expect((await patch(set('/name', null))).body).toMatchObject({ name: null });
});
