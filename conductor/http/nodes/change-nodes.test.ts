import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { createNode } from '#test/support/create-node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** PATCH of a node. */

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const create = (more?: Record<string, unknown>) => createNode(api, more);
const add = (path: string, value: unknown) => ({ op: 'add', path, value });
const patch = (ident: string, operations: unknown, version?: string) =>
  api.call('PATCH', `/v1/nodes/${ident}`, operations, version);

test('adds, replaces, removes and answers the whole node', async () => {
  const uuid = await create({ name: 'a', extra: { old: 1 } });
  const { body, status } = await patch('a', [
    add('/instance_info/image_source', 'http://images/x'),
    add('/extra/list', [1]),
    add('/extra/list/-', 2),
    { op: 'remove', path: '/extra/old' },
    { op: 'replace', path: '/name', value: 'b' },
    add('/maintenance', 'yes'),
  ]);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    uuid,
    name: 'b',
    extra: { list: [1, 2] },
    instance_info: { image_source: 'http://images/x' },
    maintenance: true,
  });
  expect((await patch('b', [{ op: 'remove', path: '/name' }])).body['name']).toBeNull();
  expect((await patch(uuid, [])).status).toBe(200);
});

test('a masked secret that is written back stays what it was', async () => {
  const uuid = await create({ driver_info: { redfish_password: 'sec' } });
  await patch(uuid, [add('/driver_info', { redfish_password: '******', agent_more: 1 })]);
  const row = await getNode(api.context.db, uuid);
  expect(JSON.stringify(row)).not.toContain('"sec"');
  expect(openNodeDocument(testSecrets, row, 'driverInfo')).toEqual({ redfish_password: 'sec', agent_more: 1 });
  const copied = await patch(uuid, [
    add('/extra', {}),
    add('/driver_info/agent_other', row.driverInfo['redfish_password']),
  ]);
  expect(copied).toMatchObject({
    status: 400,
    fault: expect.stringContaining('driver_info.agent_other: a value must not'),
  });
});

test.each([
  [{}, 400, 'must be a JSON array'],
  [[{ op: 'test', path: '/name', value: 'x' }], 400, 'must be add, replace or remove'],
  [[{ op: 'replace', path: '/uuid', value: 'x' }], 400, 'Cannot patch /uuid. Only the following can be updated'],
  [[add('/traits', [])], 400, 'Cannot patch /traits'],
  [[{ op: 'remove', path: '/driver' }], 400, 'required property'],
  [[add('/driver', 'nope')], 400, "no hardware type 'nope'"],
  [[{ op: 'remove', path: '/extra/zz' }], 400, "can't remove a non-existent object 'zz'"],
  [[{ op: 'replace', path: '/extra/zz', value: 1 }], 400, "can't replace a non-existent object 'zz'"],
  [[add('/extra/a~1b', 1)], 400, 'does not match'],
  [[add('/instance_uuid', 'nonuuid')], 400, '/instance_uuid: must be a UUID'],
  [[add('/name', 'bad name!')], 400, 'bad name!'],
  [[add('/chassis_uuid', 'x')], 400, 'must be the UUID of a chassis'],
  [[add('/deploy_interface', 'ansible')], 400, "no deploy interface 'ansible'"],
  [[add('/protected', true)], 409, "'active'"],
  [[add('/protected_reason', 'x')], 400, 'while protected is true'],
  [[add('/instance_name', 'x')], 406, 'instance_name'],
])('refuses %j', async (operations, status, fault) => {
  await create({ name: 'a' });
  expect(await patch('a', operations)).toMatchObject({
    status,
    fault: expect.stringContaining(fault) as unknown,
  });
});

test('waits for nobody: in transition it is a conflict, locked it is Ironic’s text', async () => {
  const uuid = await create();
  await updateNode(api.context.db, uuid, { targetProvisionState: 'manageable' });
  expect(await patch(uuid, [add('/extra/a', 1)])).toMatchObject({
    status: 409,
    fault: expect.stringContaining('while a state transition is in progress') as unknown,
  });
  await updateNode(api.context.db, uuid, { targetProvisionState: null });
  const lease = await claimLease(api.context.db, uuid, { holder: 'other-host', leaseMs: 60_000 });
  expect(await patch(uuid, [add('/extra/a', 1)])).toMatchObject({
    status: 409,
    fault: `Node ${uuid} is locked by host other-host, please retry after the current operation is completed.`,
  });
  expect((await api.call('GET', `/v1/nodes/${uuid}?fields=reservation`)).body['reservation']).toBe('other-host');
  if (lease) await releaseLease(api.context.db, lease);
  expect((await patch(uuid, [add('/extra/a', 1)])).status).toBe(200);
});

test('an instance is removed before another is set', async () => {
  const uuid = await create();
  const first = '11111111-1111-4111-8111-111111111111';
  await patch(uuid, [add('/instance_uuid', first)]);
  expect((await patch(uuid, [add('/instance_uuid', '22222222-2222-4222-8222-222222222222')])).status).toBe(409);
  const other = await create();
  expect((await patch(other, [add('/instance_uuid', first)])).fault).toContain('already associated');
  await patch(uuid, [{ op: 'remove', path: '/instance_uuid' }]);
  expect((await patch(other, [add('/instance_uuid', first)])).status).toBe(200);
});

test('a new driver brings its interfaces along when asked, and is refused otherwise', async () => {
  const uuid = await create();
  expect(await patch(uuid, [add('/driver', 'ipmi')])).toMatchObject({
    status: 400,
    fault: expect.stringMatching(/no bios interface 'fake'; it must be no-bios.*reset_interfaces=true/) as unknown,
  });
  const reset = await api.call('PATCH', `/v1/nodes/${uuid}?reset_interfaces=true`, [add('/driver', 'ipmi')]);
  expect(reset.body).toMatchObject({ driver: 'ipmi', power_interface: 'ipmitool', boot_interface: 'ipxe' });
});

test('chosen interfaces stay as sent until they are reset', async () => {
  const uuid = await create({ driver: 'redfish', raid_interface: 'redfish', rescue_interface: 'no-rescue' });
  const names = { raid_interface: 'redfish', rescue_interface: 'no-rescue', bios_interface: 'redfish' };
  expect((await patch(uuid, [add('/extra/a', 1)])).body).toMatchObject(names);
  expect((await patch(uuid, [add('/bios_interface', 'no-bios')])).body).toMatchObject({ bios_interface: 'no-bios' });
  expect((await patch(uuid, [{ op: 'remove', path: '/bios_interface' }])).body).toMatchObject(names);
  const alone = await api.call('PATCH', `/v1/nodes/${uuid}?reset_interfaces=true`, [add('/extra/a', 2)]);
  expect(alone).toMatchObject({ status: 400, fault: expect.stringContaining('reset_interfaces') as unknown });
  const back = await api.call('PATCH', `/v1/nodes/${uuid}?reset_interfaces=true`, [add('/driver', 'redfish')]);
  expect(back.body).toMatchObject({ raid_interface: 'agent', rescue_interface: 'agent', bios_interface: 'redfish' });
});

test('neither interfaces nor a resource class change under an instance', async () => {
  const uuid = await create({ driver: 'redfish', resource_class: 'bm' });
  await api.context.db.execute(`UPDATE nodes SET provision_state = 'active' WHERE uuid = '${uuid}'`);
  for (const operation of [add('/resource_class', 'gpu'), { op: 'remove', path: '/resource_class' }]) {
    expect(await patch(uuid, [operation])).toMatchObject({
      status: 409,
      fault: expect.stringContaining('resource_class changed unless it is in one of the states: enroll') as unknown,
    });
  }
  expect((await patch(uuid, [add('/raid_interface', 'redfish')])).status).toBe(409);
  expect((await patch(uuid, [add('/raid_interface', 'agent'), add('/resource_class', 'bm')])).status).toBe(200);
});

test('fake hardware is deployed by an agent when told so, until it gets another driver', async () => {
  const uuid = await create();
  const change = async (...operations: unknown[]) => (await patch(uuid, operations)).body['deploy_interface'];
  expect(await change(add('/deploy_interface', 'direct'))).toBe('direct');
  expect(await change(add('/extra/a', 1))).toBe('direct');
  expect(await change({ op: 'remove', path: '/deploy_interface' })).toBe('fake');
  const reset = await api.call('PATCH', `/v1/nodes/${uuid}?reset_interfaces=true`, [add('/driver', 'ipmi')]);
  expect(reset.body).toMatchObject({ deploy_interface: 'direct' });
  expect((await patch(uuid, [add('/deploy_interface', 'fake')])).fault).toContain("no deploy interface 'fake'");
});

test.each([
  ['/driver_info/deploy_boot', 'warp', 'driver_info.deploy_boot: it must be reboot, kexec or auto'],
  ['/instance_info/deploy_boot', 7, 'instance_info.deploy_boot: it must be reboot, kexec or auto'],
  ['/driver_info/redfish_verify_ca', 'maybe', 'driver_info.redfish_verify_ca: must be true, false or the path'],
  ['/driver_info/virtual_media_verify_ca', '', 'driver_info.virtual_media_verify_ca: must be true, false or the path'],
  ['/driver_info/redfish_auth_type', 'magic', 'driver_info.redfish_auth_type: must be basic, session or auto'],
  ['/driver_info/redfish_tls_minimum_version', '1.0', 'driver_info.redfish_tls_minimum_version: must be one of 1.1'],
  ['/driver_info/redfish_address', 'ftp://192.0.2.1', 'driver_info.redfish_address: must be scheme and authority'],
])('%s = %j is refused where it is written', async (path, value, fault) => {
  const [, document = '', field = ''] = path.split('/');
  const uuid = await create({ driver: 'redfish' });
  expect(await patch(uuid, [add(path, value)])).toMatchObject({ status: 400, fault: expect.stringContaining(fault) });
  const enrolled = await api.call('POST', '/v1/nodes', { driver: 'redfish', [document]: { [field]: value } });
  expect(enrolled).toMatchObject({ status: 400, fault: expect.stringContaining(fault) });
});

test('a wrong value that a node has already does not stand in the way of others, nor do null and files', async () => {
  const uuid = await create({ driver: 'redfish' });
  await updateNode(api.context.db, uuid, { driverInfo: { redfish_verify_ca: 'maybe', deploy_boot: 'warp' } });
  expect((await patch(uuid, [add('/extra/a', 1), add('/driver_info/redfish_auth_type', null)])).status).toBe(200);
  expect((await patch(uuid, [add('/driver_info/redfish_verify_ca', '/etc/not/there.pem')])).status).toBe(200);
  expect((await patch(uuid, [add('/driver_info/redfish_verify_ca', 'False')])).status).toBe(200);
});

test('keys with ~ and / are written ~0 and ~1, since 1.98', async () => {
  await create({ name: 'a', extra: { 'c~d': 1 } });
  const operations = [add('/extra/rack~1row', 'r1'), { op: 'remove', path: '/extra/c~0d' }];
  expect(await patch('a', operations, '1.97')).toMatchObject({
    status: 400,
    fault: expect.stringContaining("Invalid body: 0.path: does not match '^(/[\\w-]+)+$'") as unknown,
  });
  expect((await patch('a', operations, '1.98')).body['extra']).toEqual({ 'rack/row': 'r1' });
  expect(await patch('a', [add('/extra/a~2', 1)], '1.98')).toMatchObject({ status: 400 });
  expect(await patch('a', [add('/driver_info~1x', 1)], '1.98')).toMatchObject({
    status: 400,
    fault: expect.stringContaining('Cannot patch /driver_info~1x') as unknown,
  });
});

test("an instance's name is there since 1.104, and in step with instance_info.display_name", async () => {
  const { uuid } = await api.call(
    'POST',
    '/v1/nodes',
    { driver: 'fake-hardware', name: 'a', instance_name: 'web' },
    '1.104',
  );
  const shown = async (version = '1.104') => (await api.call('GET', `/v1/nodes/${uuid}`, undefined, version)).body;
  expect(await shown()).toMatchObject({ instance_name: 'web', instance_info: { display_name: 'web' } });
  expect(await shown('1.103')).not.toHaveProperty('instance_name');
  expect((await patch('a', [add('/instance_info/display_name', 'db')])).status).toBe(200);
  expect(await shown()).toMatchObject({ instance_name: 'db', instance_info: { display_name: 'db' } });
  expect((await patch('a', [add('/instance_name', 'cache')], '1.103')).status).toBe(406);
  expect((await patch('a', [add('/instance_name', 'cache')], '1.104')).body).toMatchObject({
    instance_name: 'cache',
    instance_info: { display_name: 'cache' },
  });
  await create({ name: 'b' });
  const list = (query: string, version = '1.104') => api.call('GET', `/v1/nodes?${query}`, undefined, version);
  expect((await list('instance_name=cache')).body['nodes']).toMatchObject([{ name: 'a' }]);
  expect((await list('instance_name=web')).body['nodes']).toEqual([]);
  expect((await list('instance_name=cache', '1.103')).status).toBe(406);
  expect((await list('fields=instance_name&sort_key=instance_name')).status).toBe(200);
  for (const [value, fault] of [
    ['', 'must not be empty'],
    ['x'.repeat(256), 'is too long'],
    [7, 'must be text'],
  ]) {
    expect(await patch('a', [add('/instance_name', value)], '1.104')).toMatchObject({
      status: 400,
      fault: expect.stringContaining(String(fault)) as unknown,
    });
  }
  expect((await patch('a', [{ op: 'remove', path: '/instance_name' }], '1.104')).body).toMatchObject({
    instance_name: null,
    instance_info: {},
  });
});
