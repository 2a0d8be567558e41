import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let chassis: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  chassis = (await api.call('POST', '/v1/chassis', { description: 'rack 1' })).uuid;
});
afterAll(() => api.close());

const enrol = (name: string, more: Record<string, unknown> = {}) =>
  api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name, ...more });
const unknown = '11111111-1111-4111-8111-111111111111';
const other = '22222222-2222-4222-8222-222222222222';

test('a chassis is made, shown, changed and deleted', async () => {
  const { status, body } = await api.call('GET', `/v1/chassis/${chassis}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    uuid: chassis,
    description: 'rack 1',
    extra: {},
    updated_at: null,
    nodes: [{ href: `http://api.example/v1/chassis/${chassis}/nodes` }, {}],
  });
  const change = (operations: unknown) => api.call('PATCH', `/v1/chassis/${chassis}`, operations);
  expect((await change([{ op: 'add', path: '/extra/room', value: 7 }])).body).toMatchObject({ extra: { room: 7 } });
  expect((await change([{ op: 'remove', path: '/description' }])).body).toMatchObject({ description: null });
  expect((await change([{ op: 'add', path: '/uuid', value: unknown }])).status).toBe(400);
  expect((await api.call('DELETE', `/v1/chassis/${chassis}`)).status).toBe(204);
  expect((await api.call('GET', `/v1/chassis/${chassis}`)).fault).toBe(`Chassis ${chassis} could not be found.`);
  expect((await api.call('GET', '/v1/chassis/rack')).status).toBe(400);
  expect((await api.call('POST', '/v1/chassis', { uuid: other })).status).toBe(201);
  expect((await api.call('POST', '/v1/chassis', { uuid: other })).status).toBe(409);
});

test('one that nothing is said of, found by fuzzing', async () => {
  const answer = await api.request('/v1/chassis', { method: 'POST' });
  expect(answer.status).toBe(201);
  expect(await answer.json()).toMatchObject({ description: null, extra: {} });
});

test('nodes stand in it and leave it', async () => {
  const { body } = await enrol('n1', { chassis_uuid: chassis });
  await enrol('n2');
  expect(body).toMatchObject({ chassis_uuid: chassis });
  const names = async (path: string) =>
    ((await api.call('GET', path)).body['nodes'] as { name: string }[]).map(({ name }) => name);
  expect(await names(`/v1/nodes?chassis_uuid=${chassis}`)).toEqual(['n1']);
  expect(await names(`/v1/nodes?chassis_uuid=${unknown}`)).toEqual([]);
  expect(await names(`/v1/chassis/${chassis}/nodes`)).toEqual(['n1']);
  expect(await names(`/v1/chassis/${chassis}/nodes/detail`)).toEqual(['n1']);
  expect(await api.call('DELETE', `/v1/chassis/${chassis}`)).toMatchObject({
    status: 400,
    fault: `Cannot complete the requested action because chassis ${chassis} contains nodes.`,
  });
  const patch = (operation: unknown, version?: string) => api.call('PATCH', '/v1/nodes/n1', [operation], version);
  expect((await patch({ op: 'remove', path: '/chassis_uuid' }, '1.24')).status).toBe(406);
  expect((await patch({ op: 'remove', path: '/chassis_uuid' })).body).toMatchObject({ chassis_uuid: null });
  expect(await patch({ op: 'add', path: '/chassis_uuid', value: unknown })).toMatchObject({
    status: 400,
    fault: `Chassis ${unknown} could not be found.`,
  });
  expect((await enrol('n3', { chassis_uuid: unknown })).status).toBe(400);
  expect((await patch({ op: 'add', path: '/chassis_uuid', value: chassis })).status).toBe(200);
});

test('shards are counted', async () => {
  await enrol('n1', { shard: 'b' });
  await enrol('n2', { shard: 'b' });
  await enrol('n3', { shard: 'a' });
  await enrol('n4');
  expect((await api.call('GET', '/v1/shards')).body).toEqual({
    shards: [
      { name: 'a', count: 1 },
      { name: 'b', count: 2 },
      { name: 'None', count: 1 },
    ],
  });
  const names = async (query: string) =>
    ((await api.call('GET', `/v1/nodes?${query}`)).body['nodes'] as { name: string }[]).map(({ name }) => name);
  expect(await names('shard=a,b')).toEqual(['n1', 'n2', 'n3']);
  expect(await names('sharded=false')).toEqual(['n4']);
  expect(await names('sharded=true')).toEqual(['n1', 'n2', 'n3']);
  expect((await api.call('GET', '/v1/shards', undefined, '1.81')).status).toBe(404);
});
