import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let nodeUuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  nodeUuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
});
afterAll(() => api.close());

const create = (body: Record<string, unknown> = {}, version?: string) =>
  api.call('POST', '/v1/portgroups', { node_uuid: nodeUuid, ...body }, version);
const patch = (path: string, operations: readonly unknown[]) => api.call('PATCH', path, operations);
const names = async (path: string): Promise<unknown> => {
  const { body, fault } = await api.call('GET', path);
  return fault ?? (body['portgroups'] as { name: string }[]).map((group) => group.name);
};
const addPort = (address: string, more: Record<string, unknown> = {}) =>
  api.call('POST', '/v1/ports', { node_uuid: nodeUuid, address, ...more });
const containing = (text: string) => expect.stringContaining(text) as unknown;

test('create answers the whole group with its defaults', async () => {
  const { status, headers, body, uuid } = await create({ name: 'bond0', address: '52:54:00:AA:BB:01' });
  expect(status).toBe(201);
  expect(headers.get('Location')).toBe(`http://api.example/v1/portgroups/${uuid}`);
  expect(body).toMatchObject({
    name: 'bond0',
    address: '52:54:00:aa:bb:01',
    mode: 'active-backup',
    properties: {},
    extra: {},
    internal_info: {},
    standalone_ports_supported: true,
    node_uuid: nodeUuid,
    ports: [{ href: `http://api.example/v1/portgroups/${uuid}/ports` }, {}],
  });
  const older = (await api.call('GET', '/v1/portgroups/bond0', undefined, '1.23')).body;
  expect(older).not.toHaveProperty('mode');
  expect(older).not.toHaveProperty('ports');
  expect((await api.call('GET', '/v1/portgroups', undefined, '1.22')).status).toBe(404);
});

test('create refuses duplicates, bad values, and what is too new', async () => {
  await create({ name: 'bond0', address: '52:54:00:aa:bb:01' });
  expect(await create({ name: 'bond0' })).toMatchObject({
    status: 409,
    fault: 'A portgroup with name bond0 already exists.',
  });
  expect((await create({ address: '52:54:00:AA:BB:01' })).status).toBe(409);
  expect(await create({ mode: 'fast' })).toMatchObject({ status: 400, fault: containing('802.3ad') });
  expect((await create({ mode: '4' })).status).toBe(201);
  expect((await create({ mode: '802.3ad' }, '1.25')).status).toBe(406);
  expect(await create({ node_uuid: 'n1' })).toMatchObject({
    status: 400,
    fault: containing('Expected UUID for node_uuid: n1'),
  });
  expect((await create({ node_uuid: '11111111-1111-4111-8111-111111111111' })).status).toBe(400);
  expect((await create({ name: nodeUuid })).status).toBe(400);
});

test('lists filter, and a node has its own', async () => {
  await create({ name: 'bond0', address: '52:54:00:aa:bb:01' });
  const other = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n2', shard: 's1' })).uuid;
  await create({ name: 'bond1', node_uuid: other });
  expect(await names('/v1/portgroups')).toEqual(['bond0', 'bond1']);
  expect(await names('/v1/portgroups?node=n2')).toEqual(['bond1']);
  expect(await names('/v1/portgroups?address=52:54:00:AA:bb:01')).toEqual(['bond0']);
  const inShard = await api.call('GET', '/v1/portgroups?shard=s1', undefined, '1.106');
  expect(inShard.body['portgroups']).toMatchObject([{ name: 'bond1' }]);
  expect(await names('/v1/portgroups?shard=s1')).toContain("query argument 'shard' needs API version 1.106");
  expect(await names('/v1/nodes/n1/portgroups')).toEqual(['bond0']);
  expect((await api.call('GET', '/v1/portgroups/detail')).body['portgroups']).toMatchObject([
    { mode: 'active-backup' },
    {},
  ]);
  await api.call('DELETE', '/v1/nodes/n2');
  expect(await names('/v1/portgroups')).toEqual(['bond0']);
});

test('change patches; what boots from the network can not lose its standing', async () => {
  const { uuid } = await create({ name: 'bond0' });
  const path = `/v1/portgroups/${uuid}`;
  expect((await patch(path, [{ op: 'replace', path: '/mode', value: 'balance-xor' }])).body).toMatchObject({
    mode: 'balance-xor',
  });
  expect((await patch(path, [{ op: 'remove', path: '/name' }])).body).toMatchObject({ name: null });
  expect((await patch(path, [{ op: 'replace', path: '/node_uuid', value: nodeUuid }])).status).toBe(400);
  const port = (await addPort('52:54:00:00:00:01', { portgroup_uuid: uuid })).uuid;
  const noStandalone = [{ op: 'replace', path: '/standalone_ports_supported', value: false }];
  expect(await patch(path, noStandalone)).toMatchObject({ status: 409, fault: containing('52:54:00:00:00:01') });
  await patch(`/v1/ports/${port}`, [{ op: 'replace', path: '/pxe_enabled', value: false }]);
  expect((await patch(path, noStandalone)).status).toBe(200);
  const { status, fault } = await patch(`/v1/ports/${port}`, [{ op: 'replace', path: '/pxe_enabled', value: true }]);
  expect({ status, fault }).toMatchObject({ status: 409, fault: containing("doesn't support standalone ports") });
});

test('ports enter and leave a group of their node', async () => {
  const { uuid } = await create({ name: 'bond0' });
  const port = await addPort('52:54:00:00:00:01', { portgroup_uuid: uuid.toUpperCase(), physical_network: 'a' });
  expect(port.body).toMatchObject({ portgroup_uuid: uuid });
  const addresses = async (path: string) => (await api.call('GET', path)).body['ports'];
  expect(await addresses('/v1/portgroups/bond0/ports')).toMatchObject([{ address: '52:54:00:00:00:01' }]);
  expect(await addresses('/v1/ports?portgroup=bond0')).toHaveLength(1);
  expect(await addPort('52:54:00:00:00:02', { portgroup_uuid: uuid })).toMatchObject({
    status: 409,
    fault: containing('physical_network'),
  });
  expect(await addPort('52:54:00:00:00:02', { portgroup_uuid: nodeUuid })).toMatchObject({
    status: 400,
    fault: `Portgroup ${nodeUuid} could not be found.`,
  });
  const other = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' })).uuid;
  expect((await addPort('52:54:00:00:00:03', { portgroup_uuid: uuid, node_uuid: other })).status).toBe(400);
  expect(await api.call('DELETE', '/v1/portgroups/bond0')).toMatchObject({
    status: 400,
    fault: containing('contains ports'),
  });
  expect((await patch(`/v1/ports/${port.uuid}`, [{ op: 'remove', path: '/portgroup_uuid' }])).body).toMatchObject({
    portgroup_uuid: null,
  });
  expect((await api.call('DELETE', '/v1/portgroups/bond0')).status).toBe(204);
  expect((await api.call('GET', '/v1/ports?portgroup=bond0')).status).toBe(404);
});

test('stays as it is while its node is in use', async () => {
  const { uuid } = await create({ name: 'bond0' });
  const port = (await addPort('52:54:00:00:00:01')).uuid;
  await api.context.db.update(nodes).set({ provisionState: 'active' }).where(eq(nodes.uuid, nodeUuid));
  const refusals = [
    await create({ name: 'bond1' }),
    await api.call('DELETE', '/v1/portgroups/bond0'),
    await patch('/v1/portgroups/bond0', [{ op: 'add', path: '/address', value: '52:54:00:00:00:09' }]),
    await patch(`/v1/ports/${port}`, [{ op: 'add', path: '/portgroup_uuid', value: uuid }]),
  ];
  for (const { status, fault } of refusals) {
    expect(fault).toContain("while the node is in 'active'");
    expect(status).toBe(409);
  }
  expect((await patch('/v1/portgroups/bond0', [{ op: 'add', path: '/extra/a', value: 1 }])).status).toBe(200);
});

test('ports and groups are listed by the conductor groups of their nodes, since 1.99', async () => {
  await create({ name: 'bond0' });
  await addPort('52:54:00:00:00:01');
  for (const name of ['a', 'b']) {
    const node = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name })).uuid;
    await api.context.db
      .update(nodes)
      .set({ conductorGroup: `rack-${name}` })
      .where(eq(nodes.uuid, node));
    await create({ name: `bond-${name}`, node_uuid: node });
    await addPort(`52:54:00:00:00:0${name}`, { node_uuid: node });
  }
  const found = async (query: string) => {
    const groups = await api.call('GET', `/v1/portgroups?${query}`, undefined, '1.99');
    const ports = await api.call('GET', `/v1/ports?${query}`, undefined, '1.99');
    return [groups.body['portgroups'], ports.body['ports']].map((rows) =>
      (rows as { name?: string; address: string }[]).map(({ name, address }) => name ?? address),
    );
  };
  expect(await found('conductor_group=rack-a')).toEqual([['bond-a'], ['52:54:00:00:00:0a']]);
  expect(await found('conductor_groups=rack-a,rack-b')).toEqual([
    ['bond-a', 'bond-b'],
    ['52:54:00:00:00:0a', '52:54:00:00:00:0b'],
  ]);
  expect(await found('conductor_group=rack-z')).toEqual([[], []]);
  for (const query of ['node=a', 'address=52:54:00:00:00:0a']) {
    expect(await api.call('GET', `/v1/ports?conductor_group=rack-a&${query}`, undefined, '1.99')).toMatchObject({
      status: 400,
      fault: containing('Filtering by conductor_group cannot be combined with'),
    });
  }
});

test.each([
  ['physical_network', 102, 64],
  ['category', 103, 80],
])('%s is there since 1.%i, of %i characters at most', async (field, since, longest) => {
  const [before, at] = [`1.${since - 1}`, `1.${since}`];
  const { uuid, body } = await create({ [field]: 'green' }, at);
  expect(body[field]).toBe('green');
  const path = `/v1/portgroups/${uuid}`;
  expect((await api.call('GET', path, undefined, before)).body).not.toHaveProperty(field);
  const change = (operation: unknown, version: string) => api.call('PATCH', path, [operation], version);
  const blue = { op: 'replace', path: `/${field}`, value: 'blue' };
  expect(await change(blue, before)).toMatchObject({ status: 406, fault: containing(`field '${field}'`) });
  expect((await change(blue, at)).body[field]).toBe('blue');
  expect((await change({ op: 'remove', path: `/${field}` }, at)).body[field]).toBeNull();
  expect(await create({ [field]: 'x'.repeat(longest + 1) }, at)).toMatchObject({
    status: 400,
    fault: containing(`${field}: is too long: at most ${longest} characters`),
  });
  expect((await create({ [field]: 'x' }, before)).status).toBe(406);
  expect((await api.call('GET', `/v1/portgroups?fields=${field}`, undefined, before)).status).toBe(406);
});

test('a group and its ports are on one physical network', async () => {
  const { uuid } = await create({ physical_network: 'left' }, '1.102');
  const refusal = { status: 409, fault: containing('physical_network') };
  expect(await addPort('52:54:00:00:00:01', { portgroup_uuid: uuid, physical_network: 'right' })).toMatchObject(
    refusal,
  );
  expect((await addPort('52:54:00:00:00:01', { portgroup_uuid: uuid, physical_network: 'left' })).status).toBe(201);
  const move = [{ op: 'replace', path: '/physical_network', value: 'right' }];
  expect(await api.call('PATCH', `/v1/portgroups/${uuid}`, move, '1.102')).toMatchObject(refusal);
});
