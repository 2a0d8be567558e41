import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AllocationDesk, openAllocationDesk } from '#test/support/allocation-desk.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Allocations of nodes that are deployed already. */

let api: TestApi;
let desk: AllocationDesk;
beforeAll(async () => {
  api = await openTestApi();
  desk = openAllocationDesk(api);
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const traitA = 'CUSTOM_A';

test('takes class and uuid from the node, at once', async () => {
  const node = await desk.addNode('one', {}, [traitA]);
  const instance = crypto.randomUUID();
  await api.call('PATCH', '/v1/nodes/one', [{ op: 'add', path: '/instance_uuid', value: instance }]);
  await desk.inState('one', 'active');
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
  await desk.addNode('other');
  await desk.addNode('one');
  const instance = '22222222-2222-4222-8222-222222222222';
  await api.call('PATCH', '/v1/nodes/one', [{ op: 'add', path: '/instance_uuid', value: instance }]);
  await desk.inState('one', state);
  const answer = await api.call('POST', '/v1/allocations', { node: 'one', name: 'a', ...request });
  expect(answer).toMatchObject({ status: 409, fault: expect.stringContaining(words) as unknown });
  expect((await api.call('GET', '/v1/allocations')).body['allocations']).toEqual([]);
});
