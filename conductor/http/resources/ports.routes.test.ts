import { hash } from 'node:crypto';
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

const create = (address: string, more: Record<string, unknown> = {}, version?: string) =>
  api.call('POST', '/v1/ports', { node_uuid: nodeUuid, address, ...more }, version);
const addresses = async (query: string): Promise<unknown> => {
  const { body, fault } = await api.call('GET', `/v1/ports${query}`);
  return fault ?? (body['ports'] as { address: string }[]).map((port) => port.address);
};
const containing = (text: string) => expect.stringContaining(text) as unknown;

test('create answers the whole port, its address in lower case', async () => {
  const link = { switch_id: 's1', port_id: 'p1' };
  const { status, headers, body, uuid } = await create('52:54:00:AA:bb:01', { local_link_connection: link });
  expect(status).toBe(201);
  expect(headers.get('Location')).toBe(`http://api.example/v1/ports/${uuid}`);
  expect(body).toMatchObject({
    address: '52:54:00:aa:bb:01',
    node_uuid: nodeUuid,
    local_link_connection: link,
    pxe_enabled: true,
    internal_info: {},
    portgroup_uuid: null,
  });
  expect(body).not.toHaveProperty('description');
  expect((await api.call('GET', `/v1/ports/${uuid}`, undefined, '1.17')).body).not.toHaveProperty('pxe_enabled');
});

test('create refuses duplicates, bad addresses, nodes that are not there and what is too new', async () => {
  await create('52:54:00:aa:bb:01');
  expect(await create('52:54:00:AA:BB:01')).toMatchObject({
    status: 409,
    fault: 'A port with MAC address 52:54:00:aa:bb:01 already exists.',
  });
  expect(await create('zz')).toMatchObject({
    status: 400,
    fault: containing('Expected valid MAC address for address: zz'),
  });
  expect(await create('52:54:00:aa:bb:02', { node_uuid: '11111111-1111-4111-8111-111111111111' })).toMatchObject({
    status: 400,
    fault: containing('could not be found'),
  });
  expect((await create('52:54:00:aa:bb:02', { name: 'eth0' }, '1.87')).status).toBe(406);
  expect(await api.call('POST', '/v1/ports', { address: '52:54:00:aa:bb:02' })).toMatchObject({ status: 400 });
  const byName = await api.call('POST', '/v1/ports', { address: '52:54:00:aa:bb:02', node_ident: 'n1' });
  expect(byName.body['node_uuid']).toBe(nodeUuid);
});

test('lists filter by node and address, page, and show details', async () => {
  await create('52:54:00:00:00:01');
  await create('52:54:00:00:00:02');
  const both = ['52:54:00:00:00:01', '52:54:00:00:00:02'];
  expect(await addresses('')).toEqual(both);
  expect(await addresses('?node=n1')).toEqual(both);
  expect(await addresses(`?node_uuid=${nodeUuid}`)).toEqual(both);
  expect(await addresses('?node=other')).toEqual([]);
  expect(await addresses('?address=52:54:00:00:00:02&fields=node_uuid,uuid,address')).toEqual([both[1]]);
  expect(await addresses('?sort_key=address&sort_dir=desc&limit=1')).toEqual([both[1]]);
  expect(await addresses('?bogus=1')).toBe('Unexpected arguments: bogus');
  expect((await api.call('GET', '/v1/ports?limit=1')).body['next']).toContain('/v1/ports?limit=1&marker=');
  expect((await api.call('GET', '/v1/ports/detail')).body['ports']).toMatchObject([{ pxe_enabled: true }, {}]);
  expect((await api.call('GET', '/v1/nodes/n1/ports?detail=true')).body['ports']).toHaveLength(2);
});

test('change patches and refuses', async () => {
  const { uuid } = await create('52:54:00:00:00:01');
  const patch = (operations: unknown) => api.call('PATCH', `/v1/ports/${uuid}`, operations);
  expect((await patch([{ op: 'add', path: '/extra/x', value: 1 }])).body).toMatchObject({ extra: { x: 1 } });
  expect((await patch([{ op: 'replace', path: '/address', value: '52:54:00:00:00:0F' }])).body['address']).toBe(
    '52:54:00:00:00:0f',
  );
  expect(await patch([{ op: 'replace', path: '/node_uuid', value: nodeUuid }])).toMatchObject({
    status: 400,
    fault: containing('Cannot patch /node_uuid'),
  });
  expect((await patch([{ op: 'remove', path: '/address' }])).status).toBe(400);
});

const inState = (provisionState: 'active' | 'deploy failed' | 'manageable' | 'inspect wait') =>
  api.context.db.update(nodes).set({ provisionState }).where(eq(nodes.uuid, nodeUuid));

test.each(['active', 'deploy failed'] as const)('keeps its connection while the node is %s', async (state) => {
  const { uuid } = await create('52:54:00:00:00:01');
  await inState(state);
  const patch = (path: string, value: unknown) => api.call('PATCH', `/v1/ports/${uuid}`, [{ op: 'add', path, value }]);
  const refusals = [
    await api.call('DELETE', `/v1/ports/${uuid}`),
    await create('52:54:00:00:00:02'),
    await patch('/address', '52:54:00:00:00:03'),
    await patch('/local_link_connection/port_id', 'p9'),
    await patch('/pxe_enabled', false),
  ];
  for (const { status, fault } of refusals) {
    expect(fault).toContain(`while the node is in '${state}'. Possible in: enroll, manageable, available`);
    expect(status).toBe(409);
  }
  expect((await patch('/extra/a', 1)).status).toBe(200);
  await api.call('PUT', '/v1/nodes/n1/maintenance', {});
  expect((await patch('/pxe_enabled', false)).status).toBe(200);
});

test.each(['manageable', 'inspect wait'] as const)('comes and goes while the node is %s', async (state) => {
  await inState(state);
  const { uuid } = await create('52:54:00:00:00:01');
  expect((await api.call('DELETE', `/v1/ports/${uuid}`)).status).toBe(204);
});

test('no two ports are at one switch port', async () => {
  const at = (switchId: string, portId: string) => ({
    local_link_connection: { switch_id: switchId, port_id: portId },
  });
  const first = await create('52:54:00:00:00:01', at('aa:bb', 'p1'));
  expect(await create('52:54:00:00:00:02', at('AA:BB', 'p1'))).toMatchObject({
    status: 409,
    fault: containing(`port ${first.uuid} (52:54:00:00:00:01) of node ${nodeUuid} is at this switch_id and port_id`),
  });
  const second = await create('52:54:00:00:00:02', at('aa:bb', 'p2'));
  const patch = (value: unknown) =>
    api.call('PATCH', `/v1/ports/${second.uuid}`, [{ op: 'add', path: '/local_link_connection/port_id', value }]);
  expect((await patch('p1')).status).toBe(409);
  expect((await patch('p3')).status).toBe(200);
  expect((await patch('p3')).status).toBe(200);
  // what the look before writing does not see, the database refuses
  expect(await create('52:54:00:00:00:04', { local_link_connection: { switch_id: 1, port_id: 2 } })).toMatchObject({
    status: 201,
  });
  expect(await create('52:54:00:00:00:05', { local_link_connection: { switch_id: 1, port_id: 2 } })).toMatchObject({
    status: 409,
    fault: containing('local_link_connection: another port'),
  });
});

test('is not changed or deleted under a running flow', async () => {
  const { uuid } = await create('52:54:00:00:00:01');
  await api.call('PUT', '/v1/nodes/n1/states/provision', { target: 'manage' });
  expect((await api.call('DELETE', `/v1/ports/${uuid}`)).status).toBe(409);
  expect(
    (await api.call('PATCH', `/v1/ports/${uuid}`, [{ op: 'add', path: '/pxe_enabled', value: false }])).status,
  ).toBe(409);
});

test('delete', async () => {
  const { uuid } = await create('52:54:00:00:00:01');
  expect((await api.call('DELETE', `/v1/ports/${uuid}`)).status).toBe(204);
  expect((await api.call('DELETE', `/v1/ports/${uuid}`)).status).toBe(404);
  expect((await api.call('GET', '/v1/ports/nope')).status).toBe(400);
});

test.each(['switch_id', 'port_id'])(
  'a %s longer than its index bears is refused by name, however it is written',
  async (name) => {
    // no compression makes it short
    const long = Array.from({ length: 100 }, (_, index) => hash('sha256', String(index))).join('');
    const other = name === 'switch_id' ? 'port_id' : 'switch_id';
    const refusal = `local_link_connection.${name}: is too long: at most 255 characters`;
    for (const value of [long, [long], long.slice(0, 256)])
      expect(
        await create('52:54:00:00:00:01', { local_link_connection: { [other]: 'x', [name]: value } }),
      ).toMatchObject({
        status: 400,
        fault: containing(refusal),
      });
    const longest = { [other]: long.slice(0, 255), [name]: long.slice(0, 255) };
    const { status, uuid } = await create('52:54:00:00:00:01', { local_link_connection: longest });
    expect(status).toBe(201);
    const patch = [{ op: 'add', path: `/local_link_connection/${name}`, value: long }];
    expect(await api.call('PATCH', `/v1/ports/${uuid}`, patch)).toMatchObject({
      status: 400,
      fault: containing(`/local_link_connection/${name}: is too long: at most 255 characters`),
    });
  },
);

test('a description is there since 1.97', async () => {
  const { uuid, body } = await create('52:54:00:00:00:01', { description: 'left, upper' }, '1.97');
  expect(body['description']).toBe('left, upper');
  expect((await api.call('GET', `/v1/ports/${uuid}`, undefined, '1.96')).body).not.toHaveProperty('description');
  const patch = (operation: unknown, version: string) => api.call('PATCH', `/v1/ports/${uuid}`, [operation], version);
  const right = { op: 'replace', path: '/description', value: 'right' };
  expect(await patch(right, '1.96')).toMatchObject({ status: 406, fault: containing("field 'description'") });
  expect((await patch(right, '1.97')).body['description']).toBe('right');
  expect((await patch({ op: 'remove', path: '/description' }, '1.97')).body['description']).toBeNull();
  expect(await create('52:54:00:00:00:02', { description: 'x'.repeat(256) }, '1.97')).toMatchObject({
    status: 400,
    fault: containing('description'),
  });
  expect((await create('52:54:00:00:00:02', { description: 'x' }, '1.96')).status).toBe(406);
});

test.each([
  ['vendor', 100, 32],
  ['category', 101, 80],
])('%s is there since 1.%i, of %i characters at most', async (field, since, longest) => {
  const [before, at] = [`1.${since - 1}`, `1.${since}`];
  const { uuid, body } = await create('52:54:00:00:00:01', { [field]: 'green' }, at);
  expect(body[field]).toBe('green');
  expect((await api.call('GET', `/v1/ports/${uuid}`, undefined, before)).body).not.toHaveProperty(field);
  expect((await api.call('GET', `/v1/ports?fields=${field}`, undefined, at)).body['ports']).toMatchObject([
    { [field]: 'green' },
  ]);
  const change = (operation: unknown, version: string) => api.call('PATCH', `/v1/ports/${uuid}`, [operation], version);
  const blue = { op: 'replace', path: `/${field}`, value: 'blue' };
  expect(await change(blue, before)).toMatchObject({ status: 406, fault: containing(`field '${field}'`) });
  expect((await change(blue, at)).body[field]).toBe('blue');
  expect((await change({ op: 'remove', path: `/${field}` }, at)).body[field]).toBeNull();
  expect(await create('52:54:00:00:00:02', { [field]: 'x'.repeat(longest + 1) }, at)).toMatchObject({
    status: 400,
    fault: containing(`${field}: is too long: at most ${longest} characters`),
  });
  expect(await create('52:54:00:00:00:02', { [field]: 7 }, at)).toMatchObject({
    status: 400,
    fault: containing(field),
  });
  expect((await create('52:54:00:00:00:02', { [field]: 'x' }, before)).status).toBe(406);
});

test("keys of OVN's VTEP are there in 1.90 to 1.104 only", async () => {
  const vtep = { port_id: 'p1', 'vtep-logical-switch': 'l', 'vtep-physical-switch': 'p' };
  const at = (version: string) => create('52:54:00:00:00:01', { local_link_connection: vtep }, version);
  expect(await at('1.105')).toMatchObject({ status: 406, fault: containing('is gone since API version 1.105') });
  expect(await at('1.89')).toMatchObject({ status: 406, fault: containing('needs API version 1.90') });
  const { status, uuid } = await at('1.104');
  expect(status).toBe(201);
  const shown = async (version: string) =>
    (await api.call('GET', `/v1/ports/${uuid}`, undefined, version)).body['local_link_connection'];
  expect(await shown('1.104')).toEqual(vtep);
  expect([await shown('1.105'), await shown('1.89')]).toEqual([{}, {}]);
  const change = (path: string, value: unknown, version = '1.105') =>
    api.call('PATCH', `/v1/ports/${uuid}`, [{ op: 'add', path, value }], version);
  for (const [path, value] of [
    ['/local_link_connection', vtep],
    ['/local_link_connection/vtep-logical-switch', 'm'],
  ] as const) {
    expect((await change(path, value)).status).toBe(406);
    expect((await change(path, value, '1.104')).status).toBe(200);
  }
  expect((await change('/local_link_connection', { switch_id: 's', port_id: 'p' })).status).toBe(200);
  expect(await shown('1.105')).toEqual({ switch_id: 's', port_id: 'p' });
});
