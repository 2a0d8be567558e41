import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerBoot, answerHttpBoot } from '#conductor/flows/network/boot-answers.ts';
import { createApp } from '#conductor/http/app.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const version = '1.89';
const containing = (text: string): unknown => expect.stringContaining(text);
const add = (path: string, value: unknown) => ({ op: 'add', path, value });

/** The host as metal3's baremetal-operator enrolls it by Redfish (ironic-api.md §3.2, §5.3). */
const host = {
  driver: 'redfish',
  name: 'metal3~worker-0',
  bios_interface: 'redfish',
  boot_interface: 'ipxe',
  firmware_interface: 'redfish',
  inspect_interface: 'redfish',
  management_interface: 'redfish',
  power_interface: 'redfish',
  raid_interface: 'redfish',
  vendor_interface: 'redfish',
  driver_info: {
    redfish_address: 'https://192.0.2.10',
    redfish_system_id: '/redfish/v1/Systems/1',
    redfish_username: 'admin',
    redfish_password: 'secret',
    redfish_verify_ca: false,
  },
  disable_power_off: undefined,
  properties: { capabilities: 'boot_mode:uefi', cpu_arch: 'x86_64' },
};

/** The requests of one host in order: what the operator asks before, while and after it enrolls. */
test("metal3's baremetal-operator takes a Redfish host from nothing to a deployment", async () => {
  const call = (method: string, path: string, body?: unknown) => api.call(method, path, body, version);
  const moveTo = async (state: string) => {
    await api.context.db.execute(`UPDATE nodes SET provision_state = '${state}', target_provision_state = null`);
    await api.context.db.execute('DELETE FROM flows');
  };
  const drivers = (await call('GET', '/v1/drivers?detail=true')).body['drivers'];
  expect(drivers).toContainEqual(
    expect.objectContaining({
      name: 'redfish',
      default_raid_interface: 'agent',
      enabled_raid_interfaces: ['agent', 'redfish', 'no-raid'],
      enabled_boot_interfaces: ['ipxe', 'pxe', 'redfish-virtual-media', 'http', 'http-ipxe'],
    }),
  );
  expect((await call('GET', '/v1/nodes/metal3~worker-0')).status).toBe(404);

  const { status, uuid, fault, body } = await call('POST', '/v1/nodes', host);
  expect({ status, fault }).toEqual({ status: 201, fault: undefined });
  const { driver_info: _, disable_power_off: __, ...reported } = host;
  expect(body).toMatchObject({ ...reported, provision_state: 'enroll' });
  const port = { node_uuid: uuid, address: '52:54:00:00:00:01', pxe_enabled: true };
  expect((await call('POST', '/v1/ports', port)).status).toBe(201);
  const described = await call('PATCH', `/v1/nodes/${uuid}`, [
    add('/automated_clean', true),
    add('/driver_info/deploy_kernel', 'http://192.0.2.1/ipa.kernel'),
    add('/driver_info/deploy_ramdisk', 'http://192.0.2.1/ipa.initramfs'),
    add('/driver_info/force_persistent_boot_device', 'Default'),
    add('/network_data', {}),
  ]);
  expect(described).toMatchObject({ status: 200, body: { raid_interface: 'redfish', inspect_interface: 'redfish' } });
  const provision = (target: string, more: object = {}) =>
    call('PUT', `/v1/nodes/${uuid}/states/provision`, { target, ...more });
  expect((await provision('manage')).status).toBe(202);
  await moveTo('manageable');
  expect((await provision('inspect')).status).toBe(202);
  await moveTo('manageable');

  const raid = { logical_disks: [{ size_gb: 'MAX', raid_level: '1', controller: 'software' }] };
  expect((await call('PATCH', `/v1/nodes/${uuid}`, [add('/raid_interface', 'agent')])).body).toMatchObject({
    raid_interface: 'agent',
  });
  expect((await call('PUT', `/v1/nodes/${uuid}/states/raid`, raid)).status).toBe(204);
  const clean_steps = ['delete_configuration', 'create_configuration'].map((step) => ({ interface: 'raid', step }));
  expect((await provision('clean', { clean_steps })).status).toBe(202);
  await moveTo('manageable');

  await call('PATCH', `/v1/nodes/${uuid}`, [
    add('/instance_uuid', '11111111-1111-4111-8111-111111111111'),
    add('/instance_info/image_source', 'http://192.0.2.1/image.raw'),
    add('/instance_info/image_disk_format', 'raw'),
    add('/instance_info/image_os_hash_algo', 'sha256'),
    add('/instance_info/image_os_hash_value', 'a'.repeat(64)),
  ]);
  expect((await call('GET', `/v1/nodes/${uuid}/validate`)).body).toMatchObject({
    boot: { result: true },
    deploy: { result: true },
    raid: { result: true },
    firmware: { result: true },
  });
  expect((await provision('provide')).status).toBe(202);
  await moveTo('available');
  expect((await provision('active', { configdrive: { meta_data: { name: 'worker-0' } } })).status).toBe(202);
});

test('an externally provisioned host is adopted without an image', async () => {
  const { uuid } = await api.call('POST', '/v1/nodes', { ...host, name: 'metal3~external' }, version);
  await api.context.db.execute(`UPDATE nodes SET provision_state = 'manageable' WHERE uuid = '${uuid}'`);
  const adopt = await api.call('PUT', `/v1/nodes/${uuid}/states/provision`, { target: 'adopt' }, version);
  expect(adopt).toMatchObject({ status: 202 });
  expect((await api.call('GET', `/v1/nodes/${uuid}`)).body).toMatchObject({
    provision_state: 'adopting',
    target_provision_state: 'active',
  });
});

test('an interface that is not there, or was taken away, refuses in words what needs it', async () => {
  const names = {
    boot_interface: 'redfish-virtual-media',
    bios_interface: 'no-bios',
    inspect_interface: 'no-inspect',
    raid_interface: 'no-raid',
    rescue_interface: 'no-rescue',
  };
  const { uuid } = await api.call('POST', '/v1/nodes', { ...host, name: 'metal3~bare', ...names });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:02' });
  const absent = { result: null, reason: 'not supported' };
  expect((await api.call('GET', `/v1/nodes/${uuid}/validate`)).body).toMatchObject({
    power: { result: true },
    boot: { result: true },
    bios: absent,
    inspect: absent,
    raid: absent,
    rescue: absent,
    console: absent,
  });
  await api.context.db.execute(`UPDATE nodes SET provision_state = 'manageable' WHERE uuid = '${uuid}'`);
  const inspect = () => api.call('PUT', `/v1/nodes/${uuid}/states/provision`, { target: 'inspect' });
  await updateNode(api.context.db, uuid, { interfaces: { inspect: 'no-inspect', raid: 'no-raid', bios: 'no-bios' } });
  expect(await inspect()).toMatchObject({ status: 400, fault: containing('inspect: not supported') });
  expect(await api.call('PUT', `/v1/nodes/${uuid}/states/raid`, {})).toMatchObject({
    status: 400,
    fault: containing('does not support raid (disabled or not implemented): node'),
  });
  const plan = { target: 'clean', clean_steps: [{ interface: 'bios', step: 'factory_reset' }], disable_ramdisk: true };
  expect(await api.call('PUT', `/v1/nodes/${uuid}/states/provision`, plan)).toMatchObject({
    status: 400,
    fault: containing('bios.factory_reset'),
  });
});

test('a ramdisk is booted over the network, by its node alone and while it is its instance', async () => {
  const { uuid } = await api.call('POST', '/v1/nodes', {
    ...host,
    name: 'metal3~ramdisk',
    deploy_interface: 'ramdisk',
    instance_info: {
      kernel: 'http://192.0.2.1/vmlinuz',
      ramdisk: 'http://192.0.2.1/initrd',
      kernel_append_params: 'a=1',
    },
  });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:03' });
  expect((await api.call('GET', `/v1/nodes/${uuid}/validate`)).body).toMatchObject({ deploy: { result: true } });
  const booted = () => answerBoot(api.context, '52:54:00:00:00:03');
  expect(await booted()).toMatchObject({ kind: 'local disk' });
  await api.context.db.execute(`UPDATE nodes SET provision_state = 'active' WHERE uuid = '${uuid}'`);
  expect(await booted()).toEqual({
    kind: 'instance',
    nodeName: 'metal3~ramdisk',
    instance: {
      kind: 'kernel',
      kernel: 'http://192.0.2.1/vmlinuz',
      ramdisk: 'http://192.0.2.1/initrd',
      kernelParams: 'a=1',
    },
  });
});

test("the ramdisk that it names is booted where nodes may name one, and it gets the conductor's address", async () => {
  const address = '52:54:00:00:00:06';
  const own = { deploy_kernel: 'http://192.0.2.1/ipa.kernel', deploy_ramdisk: 'http://192.0.2.1/ipa.initramfs' };
  const { uuid } = await api.call('POST', '/v1/nodes', {
    ...host,
    name: 'metal3~own',
    driver_info: { ...host.driver_info, ...own },
  });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address });
  await api.context.db.execute(`UPDATE nodes SET provision_state = 'inspecting' WHERE uuid = '${uuid}'`);
  const answer = (nodeRamdisks: boolean) =>
    answerBoot({ ...api.context, config: { ...api.context.config, nodeRamdisks } }, address);
  expect(await answer(false)).toMatchObject({ kind: 'ramdisk', fetchesToken: true });
  expect(await answer(true)).toMatchObject({
    kind: 'ramdisk',
    fetchesToken: false,
    own: { kernel: own.deploy_kernel, ramdisk: own.deploy_ramdisk },
  });
});

test('what names no ramdisk that can be booted boots no other, but images of Glance', async () => {
  const address = '52:54:00:00:00:07';
  const url = 'http://192.0.2.1/ipa.kernel';
  const { uuid } = await api.call('POST', '/v1/nodes', {
    ...host,
    name: 'metal3~glance',
    inspect_interface: 'agent',
    driver_info: { ...host.driver_info, deploy_kernel: url },
  });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address });
  const context = { ...api.context, config: { ...api.context.config, nodeRamdisks: true } };
  const app = createApp(context);
  const ask = async (path: string, init?: RequestInit) =>
    (await app.request(`http://api.example/v1/nodes/${uuid}/${path}`, init)).json();
  const headers = { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': version };
  const warnings = async () => {
    const plan = await ask('plan', { method: 'POST', headers, body: JSON.stringify({ target: 'inspect' }) });
    return (plan as { warnings: string[] }).warnings;
  };
  const change = (key: string, value: string) =>
    api.call('PATCH', `/v1/nodes/${uuid}`, [add(`/driver_info/${key}`, value)]);
  const moveTo = (state: string) =>
    api.context.db.execute(`UPDATE nodes SET provision_state = '${state}' WHERE uuid = '${uuid}'`);

  await moveTo('manageable');
  const alone = 'driver_info needs deploy_kernel and deploy_ramdisk, or neither';
  expect(await ask('validate')).toMatchObject({ boot: { result: false, reason: alone } });
  expect(await warnings()).toContainEqual(`No ramdisk is booted: ${alone}.`);
  const inspect = { method: 'PUT', headers, body: JSON.stringify({ target: 'inspect' }) };
  expect(JSON.stringify(await ask('states/provision', inspect))).toContain(`boot: ${alone}`);
  await moveTo('inspecting');
  await expect(answerBoot(context, address)).rejects.toThrow(alone);

  await change('deploy_ramdisk', 'file:///ipa.initramfs');
  expect(await ask('validate')).toMatchObject({
    boot: { result: false, reason: containing('deploy_ramdisk must be') },
  });

  await change('deploy_kernel', uuid);
  await change('deploy_ramdisk', uuid);
  expect(await answerBoot(context, address)).toMatchObject({ kind: 'ramdisk', fetchesToken: true });
  expect(await ask('validate')).toMatchObject({ boot: { result: true, reason: containing('Glance') } });
  await moveTo('manageable');
  expect(await warnings()).toContainEqual(containing("not booted, but Baton's own ramdisk (driver_info.deploy_kernel"));
});

test('firmware that boots the ramdisk by HTTP itself is sent iPXE for an instance that is one', async () => {
  const address = '52:54:00:00:00:05';
  const { uuid } = await api.call('POST', '/v1/nodes', {
    ...host,
    name: 'metal3~http',
    boot_interface: 'http',
    deploy_interface: 'ramdisk',
    instance_info: { boot_iso: 'http://192.0.2.1/live.iso' },
  });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address });
  expect((await api.call('GET', `/v1/nodes/${uuid}/validate`)).body).toMatchObject({ deploy: { result: true } });
  const asked = () => answerHttpBoot(api.context, { mac: address, source: '192.0.2.7' });
  expect(await asked()).toEqual({ kind: 'local disk' });
  await api.context.db.execute(`UPDATE nodes SET provision_state = 'active' WHERE uuid = '${uuid}'`);
  expect(await asked()).toEqual({ kind: 'iPXE' });
  expect(await answerBoot(api.context, address)).toMatchObject({
    kind: 'instance',
    instance: { kind: 'iso', url: 'http://192.0.2.1/live.iso' },
  });
});

test('a login in a URL that everybody on the network would be told is refused, and never told', async () => {
  const address = '52:54:00:00:00:04';
  const { uuid } = await api.call('POST', '/v1/nodes', {
    ...host,
    name: 'metal3~login',
    deploy_interface: 'ramdisk',
    instance_info: { boot_iso: 'http://me:hush@192.0.2.1/live.iso' },
  });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address });
  const validated = async () => (await api.call('GET', `/v1/nodes/${uuid}/validate`)).body;
  const refused = 'instance_info.boot_iso must be a URL without a login';
  expect(await validated()).toMatchObject({ deploy: { result: false, reason: containing(refused) } });
  await api.context.db.execute(`UPDATE nodes SET provision_state = 'active' WHERE uuid = '${uuid}'`);
  await expect(answerBoot(api.context, address)).rejects.toThrow(refused);
  // a BMC is told it alone
  await updateNode(api.context.db, uuid, { interfaces: { boot: 'redfish-virtual-media' } });
  expect(await validated()).toMatchObject({ deploy: { result: true } });
});
