import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nodes } from '#conductor/db/schema/node.ts';
import { webhookDeliveries, webhooks } from '#conductor/db/schema/webhook.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import type { ProvisionState } from '#conductor/nodes/provision-states.ts';
import { eventually } from '#test/support/eventually.ts';
import { type ApiAnswer, openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const containing = (text: string) => expect.stringContaining(text) as unknown;
const traitA = 'CUSTOM_A';
const traitB = 'CUSTOM_B';

/** An available node of class `big` with known power; answers its UUID. */
async function addNode(name: string, more: Record<string, unknown> = {}, traits: readonly string[] = []) {
  const body = { driver: 'fake-hardware', name, resource_class: 'big', ...more };
  const { uuid } = await api.call('POST', '/v1/nodes', body);
  await api.context.db.update(nodes).set({ provisionState: 'available', powerState: 'power off' });
  if (traits.length > 0) await api.call('PUT', `/v1/nodes/${name}/traits`, { traits });
  return uuid;
}
const ask = (more: Record<string, unknown> = {}, version?: string) =>
  api.call('POST', '/v1/allocations', { resource_class: 'big', ...more }, version);
const show = async (ident: string) => (await api.call('GET', `/v1/allocations/${ident}`)).body;
/** The allocation once the conductor has looked for its node. */
async function outcome(asked: Promise<ApiAnswer>): Promise<Record<string, unknown>> {
  const { uuid, status, fault } = await asked;
  expect({ status, fault }).toEqual({ status: 201, fault: undefined });
  await api.context.allocator.idle();
  return show(uuid);
}
const inState = (name: string, state: ProvisionState) =>
  api.context.db.transaction(async (tx) => {
    const { uuid } = await getNode(tx, name);
    await tx.update(nodes).set({ provisionState: state, targetProvisionState: null }).where(eq(nodes.uuid, uuid));
  });

describe('asking', () => {
  test('answers at once, and the conductor finds the node in the background', async () => {
    const node = await addNode('one', {}, [traitA, traitB]);
    const asked = await ask({ name: 'a', traits: [traitA], extra: { why: 'test' } });
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
    expect(await show('a')).toMatchObject({ uuid: asked.uuid, state: 'active', node_uuid: node });
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
    for (const name of ['n1', 'n2', 'n3', 'n4', 'n5']) await addNode(name);
    const wanted = await getNode(api.context.db, 'n4');
    expect(await outcome(ask({ name: 'n4' }))).toMatchObject({ node_uuid: wanted.uuid });
    const { uuid } = await getNode(api.context.db, 'n2');
    expect(await outcome(ask({ candidate_nodes: ['n2'] }))).toMatchObject({ node_uuid: uuid, candidate_nodes: [uuid] });
  });

  test.each([
    ['of another class', { resource_class: 'small' }, {}, 'no available nodes match the resource class small'],
    [
      'in maintenance',
      {},
      { maintenance: true },
      'no available nodes match the resource class big (1 nodes of the class: 1 in maintenance)',
    ],
    ['of another owner', { owner: 'p2' }, { owner: 'p1' }, '1 neither owned by nor leased to the owner'],
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
    await addNode('one', node, [traitA]);
    expect(await outcome(ask(request))).toMatchObject({
      state: 'error',
      node_uuid: null,
      last_error: containing(words),
    });
  });

  test('an owner gets nodes that it owns or leases', async () => {
    await addNode('other', { owner: 'p2' });
    const mine = await addNode('mine', { owner: 'p1' });
    const leased = await addNode('leased', { owner: 'p2', lessee: 'p1' });
    const got = [await outcome(ask({ owner: 'p1' })), await outcome(ask({ owner: 'p1' }))];
    expect(new Set(got.map((row) => row['node_uuid']))).toEqual(new Set([mine, leased]));
    expect(await outcome(ask({ owner: 'p1' }))).toMatchObject({ state: 'error' });
  });

  test('a locked node is tried again, and given up in the end', async () => {
    const uuid = await addNode('one');
    const lease = await claimLease(api.context.db, uuid, { holder: 'somebody', leaseMs: 60_000 });
    expect(lease).toBeDefined();
    const asked = await ask();
    await eventually(async () => {
      expect(await show(asked.uuid)).toMatchObject({ state: 'error' });
    });
    expect((await show(asked.uuid))['last_error']).toContain('could not reserve any of 1 suitable nodes');
    const second = await ask();
    await api.context.allocator.idle();
    if (lease) await releaseLease(api.context.db, lease);
    await eventually(async () => {
      expect(await show(second.uuid)).toMatchObject({ state: 'active', node_uuid: uuid });
    });
  });

  test('refuses what is no request, naming the field', async () => {
    await addNode('one');
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
    await addNode('one');
    const uuid = crypto.randomUUID();
    await outcome(ask({ uuid, name: 'a' }));
    expect(await ask({ uuid })).toMatchObject({ status: 409, fault: containing(uuid) });
    expect(await ask({ name: 'a' })).toMatchObject({ status: 409, fault: containing('with name a already exists') });
    await addNode('two');
    const instance = crypto.randomUUID();
    await api.call('PATCH', '/v1/nodes/two', [{ op: 'add', path: '/instance_uuid', value: instance }]);
    expect(await ask({ uuid: instance })).toMatchObject({
      status: 409,
      fault: containing('is the instance_uuid of a node already'),
    });
  });

  test('each version has what it has', async () => {
    await addNode('one');
    expect((await ask({}, '1.51')).status).toBe(405);
    expect((await api.call('GET', '/v1/allocations', undefined, '1.51')).status).toBe(404);
    expect((await api.call('DELETE', '/v1/allocations/no', undefined, '1.51')).status).toBe(405);
    expect((await api.call('PATCH', '/v1/allocations/no', [], '1.56')).status).toBe(405);
    expect((await ask({ node: 'one' }, '1.57')).status).toBe(400);
    expect((await ask({ owner: 'p' }, '1.59')).status).toBe(406);
    expect((await api.call('GET', '/v1/allocations?owner=p', undefined, '1.59')).status).toBe(406);
    expect((await api.call('GET', '/v1/allocations?fields=owner', undefined, '1.59')).status).toBe(406);
    expect((await ask({}, '1.59')).body).not.toHaveProperty('owner');
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
    const node = await addNode('one');
    await outcome(ask({ name: 'b', owner: 'p1', candidate_nodes: ['one'] }));
    await api.call('PATCH', '/v1/nodes/one', [{ op: 'add', path: '/owner', value: 'p1' }]);
    await outcome(ask({ name: 'a', resource_class: 'small' }));
    await outcome(ask({ name: 'c' }));
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
    expect(await names('?fields=bogus')).toContain("no field 'bogus'");
    const page = await api.call('GET', '/v1/allocations?limit=2&fields=uuid,name');
    expect(page.body['next']).toMatch(/\/v1\/allocations\?limit=2&fields=uuid,name&marker=/);
    expect(Object.keys((page.body['allocations'] as object[])[0] ?? {})).toEqual(['uuid', 'name', 'links']);
    expect((await api.call('GET', '/v1/allocations/nope')).status).toBe(404);
  });

  test("a node's allocation: 404 without, 400 with an instance of another making", async () => {
    await addNode('one');
    expect((await api.call('GET', '/v1/nodes/one/allocation')).status).toBe(404);
    expect((await api.call('DELETE', '/v1/nodes/one/allocation')).status).toBe(404);
    expect((await api.call('GET', '/v1/nodes/nope/allocation')).status).toBe(404);
    await outcome(ask({ name: 'a' }));
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
  const { uuid } = await ask({ name: 'a' });
  await api.context.allocator.idle();
  await ask({ name: 'b' });
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

describe('backfill', () => {
  test('takes class and uuid from the node, at once', async () => {
    const node = await addNode('one', {}, [traitA]);
    const instance = crypto.randomUUID();
    await api.call('PATCH', '/v1/nodes/one', [{ op: 'add', path: '/instance_uuid', value: instance }]);
    await inState('one', 'active');
    const made = await api.call('POST', '/v1/allocations', { node: 'one', traits: [traitA], name: 'a' });
    expect(made).toMatchObject({ status: 201, uuid: instance });
    expect(made.body).toMatchObject({ state: 'active', node_uuid: node, resource_class: 'big' });
    expect((await api.call('GET', '/v1/nodes/one')).body).toMatchObject({
      allocation_uuid: instance,
      instance_info: { traits: [traitA] },
    });
    expect((await api.call('POST', '/v1/allocations', { node: 'one' })).status).toBe(409);
  });

  test.each([
    ['available', {}, "is in state 'available'"],
    ['active', { resource_class: 'small' }, 'has resource class big'],
    ['active', { traits: [traitA] }, 'lacks CUSTOM_A'],
    ['active', { candidate_nodes: ['other'] }, 'is not one of candidate_nodes'],
    ['active', { uuid: '11111111-1111-4111-8111-111111111111' }, 'has instance 22222222'],
  ] as const)('a misfit (%s, %j) is a 409 and leaves no row', async (state, request, words) => {
    await addNode('other');
    await addNode('one');
    const instance = '22222222-2222-4222-8222-222222222222';
    await api.call('PATCH', '/v1/nodes/one', [{ op: 'add', path: '/instance_uuid', value: instance }]);
    await inState('one', state);
    const answer = await api.call('POST', '/v1/allocations', { node: 'one', name: 'a', ...request });
    expect(answer).toMatchObject({ status: 409, fault: containing(words) });
    expect((await api.call('GET', '/v1/allocations')).body['allocations']).toEqual([]);
  });
});

describe('giving back', () => {
  const clear = [{ op: 'remove', path: '/instance_uuid' }];
  const both = async (state: ProvisionState, more: Record<string, unknown> = {}) => {
    const statuses: number[] = [];
    for (const way of ['DELETE', 'PATCH']) {
      await api.reset();
      const uuid = await addNode('one');
      await outcome(ask({ name: 'a' }));
      await inState('one', state);
      await updateNode(api.context.db, uuid, more);
      const answer =
        way === 'DELETE'
          ? await api.call('DELETE', '/v1/allocations/a')
          : await api.call('PATCH', '/v1/nodes/one', clear);
      statuses.push(answer.status);
      const isGone = (await api.call('GET', '/v1/allocations/a')).status === 404;
      expect(isGone).toBe(answer.status < 300);
      const node = await getNode(api.context.db, uuid);
      expect(node.allocationUuid === null && node.instanceUuid === null).toBe(isGone);
    }
    return statuses;
  };

  test('one rule for DELETE and for clearing instance_uuid', async () => {
    expect(await both('available')).toEqual([204, 200]);
    expect(await both('deploy failed', { targetProvisionState: 'active' })).toEqual([204, 200]);
    expect(await both('active')).toEqual([409, 409]);
    expect(await both('deploying', { targetProvisionState: 'active' })).toEqual([409, 409]);
    expect(await both('active', { maintenance: true })).toEqual([204, 200]);
    expect(await both('deploying', { targetProvisionState: 'active', maintenance: true })).toEqual([204, 200]);
  });

  test('not while a conductor works on the node', async () => {
    const uuid = await addNode('one');
    await outcome(ask({ name: 'a' }));
    await claimLease(api.context.db, uuid, { holder: 'somebody', leaseMs: 60_000 });
    expect((await api.call('DELETE', '/v1/allocations/a')).status).toBe(409);
  });

  test('allocation_uuid is read-only, another instance_uuid refused, the owner kept', async () => {
    await addNode('one', { owner: 'p1' });
    await outcome(ask({ name: 'a', owner: 'p1' }));
    const set = (path: string, value: unknown) => api.call('PATCH', '/v1/nodes/one', [{ op: 'replace', path, value }]);
    expect((await set('/allocation_uuid', null)).status).toBe(400);
    expect((await set('/instance_uuid', crypto.randomUUID())).status).toBe(409);
    expect(await set('/owner', 'p2')).toMatchObject({ status: 409, fault: containing('Cannot change owner') });
    expect((await set('/description', 'x')).status).toBe(200);
  });

  test('a node that is deleted in maintenance takes its allocation along', async () => {
    await addNode('one');
    await outcome(ask({ name: 'a' }));
    expect((await api.call('DELETE', '/v1/nodes/one')).status).toBe(409);
    await api.call('PUT', '/v1/nodes/one/maintenance', {});
    expect((await api.call('DELETE', '/v1/nodes/one')).status).toBe(204);
    expect((await api.call('GET', '/v1/allocations/a')).status).toBe(404);
  });

  test('webhooks are told of every deletion', async () => {
    await api.call('POST', '/v1/webhooks', { name: 'w', url: 'http://127.0.0.1:1/', events: ['allocation'] });
    await addNode('one');
    await outcome(ask({ name: 'by-delete' }));
    await api.call('DELETE', '/v1/allocations/by-delete');
    await outcome(ask({ name: 'with-node' }));
    await api.call('PUT', '/v1/nodes/one/maintenance', {});
    await api.call('DELETE', '/v1/nodes/one');
    await ask({ name: 'unserved', wait: 60 });
    await api.call('DELETE', '/v1/allocations/unserved');
    const told = await api.context.db.select().from(webhookDeliveries).orderBy(webhookDeliveries.id);
    const data = told.map(({ body }) => body['data'] as { state: string; allocation: { name: string } });
    expect(data.map(({ allocation, state }) => `${allocation.name} ${state}`)).toEqual([
      'by-delete active',
      'by-delete deleted',
      'with-node active',
      'with-node deleted',
      'unserved deleted',
    ]);
    await api.context.db.delete(webhooks);
  });

  test('one without a node is deleted in any state', async () => {
    const { uuid } = await ask({ wait: 60 });
    expect((await api.call('DELETE', `/v1/allocations/${uuid}`)).status).toBe(204);
    await outcome(ask({ name: 'b' }));
    expect((await api.call('DELETE', '/v1/allocations/b')).status).toBe(204);
  });
});
