import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ramdiskBootOf } from '#conductor/nodes/boot/ramdisk-boot.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import {
  type ApiWithCallers,
  everybody,
  macOfMine,
  openApiWithCallers,
  type Who,
} from '#test/support/api-with-callers.ts';
import type { ApiAnswer, TestApi } from '#test/support/test-api.ts';

/** Callers may do what their role allows. */

let api: TestApi;
let as: ApiWithCallers['as'];
beforeAll(async () => {
  ({ api, as } = await openApiWithCallers());
});
afterAll(() => api.close());

const owners: Who[] = ['owner admin', 'owner member', 'owner reader'];
const patch = (path: string, value: unknown) => [{ op: 'add', path, value }];
const operators: Who[] = ['admin', 'member', 'owner admin', 'owner member', 'lessee admin'];

/** Operation → who may; of the others the project `other` does not find the node, and the rest are refused. */
const operations: readonly (readonly [method: string, path: string, body: unknown, who: readonly Who[]])[] = [
  ['GET', '/v1/nodes/mine', undefined, everybody.filter((who) => who !== 'other')],
  ['GET', '/v1/nodes/mine/states', undefined, everybody.filter((who) => who !== 'other')],
  ['GET', '/v1/nodes/mine/history', undefined, ['admin', 'member', 'reader', ...owners]],
  ['GET', '/v1/nodes/mine/management/indicators', undefined, ['admin', 'member', 'reader', ...owners]],
  ['GET', '/v1/nodes/mine/ports', undefined, everybody.filter((who) => who !== 'other')],
  ['PUT', '/v1/nodes/mine/states/power', { target: 'power on' }, operators],
  ['PUT', '/v1/nodes/mine/states/provision', { target: 'manage' }, operators],
  ['PUT', '/v1/nodes/mine/maintenance', { reason: 'r' }, operators],
  ['POST', '/v1/nodes/mine/plan', { target: 'inspect' }, operators],
  ['PATCH', '/v1/nodes/mine', patch('/extra/a', 1), operators],
  ['PATCH', '/v1/nodes/mine', patch('/properties/a', 1), ['admin', 'member', 'owner admin', 'owner member']],
  ['PATCH', '/v1/nodes/mine', patch('/driver_info/a', 1), ['admin', 'owner admin']],
  ['PATCH', '/v1/nodes/mine', patch('/owner', 'ours'), ['admin', 'member']],
  ['PUT', '/v1/nodes/mine/traits/CUSTOM_A', undefined, ['admin', 'member', 'owner admin']],
  [
    'PUT',
    '/v1/nodes/mine/management/indicators/led@system',
    { state: 'ON' },
    ['admin', 'member', 'owner admin', 'owner member'],
  ],
  ['GET', '/v1/nodes/mine/console/shell', undefined, ['admin', 'owner admin']],
  ['POST', '/v1/ports', { node_uuid: 'MINE', address: macOfMine }, ['admin', 'owner admin']],
  ['DELETE', '/v1/nodes/mine', undefined, ['admin', 'owner admin']],
];

test.each(operations)('%s %s %j', async (method, path, body, allowed) => {
  const { uuid } = await as('admin', 'GET', '/v1/nodes/mine');
  const text = body === undefined ? undefined : JSON.stringify(body).replace('MINE', uuid);
  const outcomes = new Map<Who, string>();
  for (const who of everybody) outcomes.set(who, outcomeOf(await as(who, method, path, text)));
  const refusals = everybody.map((who) => [who, who === 'other' ? 'not found' : 'denied'] as const);
  expect(outcomes).toEqual(
    new Map(refusals.map(([who, refusal]) => [who, allowed.includes(who) ? 'let through' : refusal])),
  );
});

function outcomeOf({ status, fault }: ApiAnswer): string {
  if (status === 403 && fault?.startsWith('Access was denied to the following resource: ba')) return 'denied';
  if (status === 404 && fault?.endsWith('could not be found.')) return 'not found';
  return status === 401 ? 'unknown' : 'let through';
}

test('a lessee does not bring the system that it runs onto the network of ramdisks', async () => {
  const write = (who: Who, place: string) =>
    as(who, 'PATCH', '/v1/nodes/mine', patch(`/${place}/ramdisk_boot`, 'kexec'));
  const boot = async () => ramdiskBootOf(await getNode(api.context.db, 'mine'));
  expect((await write('lessee admin', 'driver_info')).status).toBe(403);
  expect((await write('lessee admin', 'instance_info')).status).toBe(200);
  expect(await boot()).toBe('power');
  expect((await write('admin', 'driver_info')).status).toBe(200);
  expect(await boot()).toBe('kexec');
});

test('drivers, conductors and deploy templates are for those without a project', async () => {
  for (const path of ['/v1/drivers', '/v1/conductors', '/v1/deploy_templates', '/v1/chassis', '/v1/shards']) {
    expect([path, (await as('reader', 'GET', path)).status]).toEqual([path, 200]);
    expect([path, (await as('owner admin', 'GET', path)).status]).toEqual([path, 403]);
  }
});

describe('tokens', () => {
  test('are made, listed and deleted by administrators alone', async () => {
    const made = await as('admin', 'POST', '/v1/tokens', { name: 'ci', role: 'reader', project: 'ours' });
    expect(made).toMatchObject({ status: 201, body: { name: 'ci', created_by: 'admin', project: 'ours' } });
    const token = String(made.body['token']);
    const ask = () => api.call('GET', '/v1/nodes', undefined, '1.96', { 'X-Auth-Token': token });
    expect((await ask()).body['nodes']).toHaveLength(1);
    const { body } = await as('admin', 'GET', '/v1/tokens');
    expect(JSON.stringify(body)).not.toContain(token);
    expect((await as('admin', 'DELETE', '/v1/tokens/ci')).status).toBe(204);
    expect((await ask()).status).toBe(401);
    expect((await as('admin', 'DELETE', '/v1/tokens/ci')).status).toBe(404);
    for (const who of ['member', 'owner admin'] as const) {
      expect((await as(who, 'GET', '/v1/tokens')).status).toBe(403);
      expect((await as(who, 'POST', '/v1/tokens', { name: 'x', role: 'admin' })).status).toBe(403);
    }
  });

  test('say what is wrong with a new one', async () => {
    expect((await as('admin', 'POST', '/v1/tokens', { name: 'x', role: 'root' })).fault).toContain('role');
    const past = { name: 'x', role: 'reader', expires_at: '2020-01-01T00:00:00Z' };
    expect((await as('admin', 'POST', '/v1/tokens', past)).fault).toBe('expires_at must lie in the future');
    expect(await as('admin', 'POST', '/v1/tokens', { name: 'admin', role: 'reader' })).toMatchObject({ status: 409 });
  });
});

test('a project enrols nodes of its own alone', async () => {
  const node = { driver: 'fake-hardware' };
  expect((await as('owner admin', 'POST', '/v1/nodes', node)).body['owner']).toBe('ours');
  expect((await as('owner admin', 'POST', '/v1/nodes', { ...node, owner: 'other' })).status).toBe(403);
  expect((await as('owner member', 'POST', '/v1/nodes', node)).status).toBe(403);
  expect((await as('member', 'POST', '/v1/nodes', node)).status).toBe(403);
  expect((await as('admin', 'POST', '/v1/nodes', { ...node, owner: 'other' })).body['owner']).toBe('other');
});

test('a project’s administrator writes into a new node no more than into one of its own', async () => {
  const enrol = (fields: Record<string, unknown>, version?: string) =>
    as('owner admin', 'POST', '/v1/nodes', { driver: 'fake-hardware', ...fields }, version);
  for (const [field, value] of Object.entries({
    shard: 's',
    lessee: 'lessee',
    conductor_group: 'g',
    chassis_uuid: '00000000-0000-4000-8000-000000000001',
  })) {
    const refused = await enrol({ [field]: value });
    expect([refused.status, refused.fault]).toEqual([403, expect.stringContaining(`baremetal:node:create:${field} `)]);
  }
  expect(await enrol({ extra: { a: 1 }, resource_class: 'c', owner: 'ours' })).toMatchObject({ status: 201 });
  // clients as old as this would have it available at once
  expect((await enrol({}, '1.5')).body['provision_state']).toBe('enroll');
  const { body } = await as('owner admin', 'GET', '/v1/nodes?fields=provision_state');
  expect(JSON.stringify(body)).not.toContain('available');
});
