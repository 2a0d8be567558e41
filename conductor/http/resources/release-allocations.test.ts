import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { webhookDeliveries, webhooks } from '#conductor/kernel/db/schema/webhook.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { type AllocationDesk, openAllocationDesk } from '#test/support/allocation-desk.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Giving nodes back. */

let api: TestApi;
let desk: AllocationDesk;
beforeAll(async () => {
  api = await openTestApi();
  desk = openAllocationDesk(api);
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const clear = [{ op: 'remove', path: '/instance_uuid' }];
const both = async (state: ProvisionState, more: Record<string, unknown> = {}) => {
  const statuses: number[] = [];
  for (const way of ['DELETE', 'PATCH']) {
    await api.reset();
    const uuid = await desk.addNode('one');
    await desk.outcome(desk.ask({ name: 'a' }));
    await desk.inState('one', state);
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
  expect(await both('rescue')).toEqual([409, 409]);
  expect(await both('rescue', { maintenance: true })).toEqual([204, 200]);
  expect(await both('deploying', { targetProvisionState: 'active' })).toEqual([409, 409]);
  expect(await both('active', { maintenance: true })).toEqual([204, 200]);
  expect(await both('deploying', { targetProvisionState: 'active', maintenance: true })).toEqual([204, 200]);
});

test('not while a conductor works on the node', async () => {
  const uuid = await desk.addNode('one');
  await desk.outcome(desk.ask({ name: 'a' }));
  await claimLease(api.context.db, uuid, { holder: 'somebody', leaseMs: 60_000 });
  expect((await api.call('DELETE', '/v1/allocations/a')).status).toBe(409);
});

test('allocation_uuid is read-only, another instance_uuid refused, the owner kept', async () => {
  await desk.addNode('one', { owner: 'p1' });
  await desk.outcome(desk.ask({ name: 'a', owner: 'p1' }));
  const set = (path: string, value: unknown) => api.call('PATCH', '/v1/nodes/one', [{ op: 'replace', path, value }]);
  expect((await set('/allocation_uuid', null)).status).toBe(400);
  expect((await set('/instance_uuid', crypto.randomUUID())).status).toBe(409);
  expect(await set('/owner', 'p2')).toMatchObject({
    status: 409,
    fault: expect.stringContaining('Cannot change owner') as unknown,
  });
  expect((await set('/lessee', 'p3')).status).toBe(200);
  expect((await set('/description', 'x')).status).toBe(200);
});

test('the lessee that has got a node stays while it has it', async () => {
  await desk.addNode('one', { owner: 'p1', lessee: 'p2' });
  await desk.outcome(desk.ask({ name: 'a', owner: 'p2' }));
  const set = (value: unknown) => api.call('PATCH', '/v1/nodes/one', [{ op: 'replace', path: '/lessee', value }]);
  expect(await set('p3')).toMatchObject({
    status: 409,
    fault: expect.stringContaining('Cannot change lessee') as unknown,
  });
  expect((await api.call('DELETE', '/v1/allocations/a')).status).toBe(204);
  expect((await set('p3')).status).toBe(200);
});

test('a node that is deleted in maintenance takes its allocation along', async () => {
  await desk.addNode('one');
  await desk.outcome(desk.ask({ name: 'a' }));
  expect((await api.call('DELETE', '/v1/nodes/one')).status).toBe(409);
  await api.call('PUT', '/v1/nodes/one/maintenance', {});
  expect((await api.call('DELETE', '/v1/nodes/one')).status).toBe(204);
  expect((await api.call('GET', '/v1/allocations/a')).status).toBe(404);
});

test('webhooks are told of every deletion', async () => {
  await api.call('POST', '/v1/webhooks', { name: 'w', url: 'http://127.0.0.1:1/', events: ['allocation'] });
  await desk.addNode('one');
  await desk.outcome(desk.ask({ name: 'by-delete' }));
  await api.call('DELETE', '/v1/allocations/by-delete');
  await desk.outcome(desk.ask({ name: 'with-node' }));
  await api.call('PUT', '/v1/nodes/one/maintenance', {});
  await api.call('DELETE', '/v1/nodes/one');
  await desk.ask({ name: 'unserved', wait: 60 });
  await api.call('DELETE', '/v1/allocations/unserved');
  const reported = await api.context.db.select().from(webhookDeliveries).orderBy(webhookDeliveries.id);
  const data = reported.map(({ body }) => body['data'] as { state: string; allocation: { name: string } });
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
  const { uuid } = await desk.ask({ wait: 60 });
  expect((await api.call('DELETE', `/v1/allocations/${uuid}`)).status).toBe(204);
  await desk.outcome(desk.ask({ name: 'b' }));
  expect((await api.call('DELETE', '/v1/allocations/b')).status).toBe(204);
});
