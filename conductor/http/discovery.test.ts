import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Machines that no node is known by report themselves, with BATON_DISCOVERY. */

const mac = '52:54:00:00:00:01';
const vendor = { manufacturer: 'Lenovo', product_name: 'SR630', serial_number: 'J1', baton_system_uuid: 'u-1' };
const inventoryOf = (address: string, more: Record<string, unknown> = {}) => ({
  interfaces: [{ name: 'eth0', mac_address: address, ipv4_address: '192.0.2.5' }],
  disks: [],
  memory: { physical_mb: 2048 },
  boot: { current_boot_mode: 'uefi', pxe_interface: address },
  bmc_address: '192.0.2.100',
  system_vendor: vendor,
  ...more,
});
const other = {
  bmc_address: '192.0.2.101',
  system_vendor: { ...vendor, serial_number: 'J2', baton_system_uuid: 'u-2' },
};

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_DISCOVERY: 'true', BATON_DISCOVERY_LIMIT: '2' } });
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const send = (inventory: Record<string, unknown>, version = '') =>
  api.call('POST', '/v1/continue_inspection', { inventory }, version);
const historyOf = async (node: string) =>
  (await api.call('GET', `/v1/nodes/${node}/history?detail=true`)).body['history'] as { event: string }[];

test('an unknown machine becomes a node in enroll with what its ramdisk has found', async () => {
  const { status, body } = await send(inventoryOf(mac), '1.84');
  expect({ status, fields: Object.keys(body) }, 'no token').toEqual({ status: 202, fields: ['uuid'] });
  const uuid = String(body['uuid']);
  expect((await api.call('GET', `/v1/nodes/${uuid}`)).body).toMatchObject({
    provision_state: 'enroll',
    driver: 'ipmi',
    driver_info: { ipmi_address: '192.0.2.100' },
    description: 'Lenovo SR630 J1',
    properties: { memory_mb: 2048, capabilities: 'boot_mode:uefi' },
  });
  expect((await api.call('GET', `/v1/ports/detail?node=${uuid}`)).body['ports']).toMatchObject([{ address: mac }]);
  expect((await api.call('GET', `/v1/nodes/${uuid}/inventory`)).body['inventory']).toMatchObject({
    system_vendor: vendor,
  });
  const events = (await historyOf(uuid)).map(({ event }) => event).join('\n');
  expect(events).toContain('it needs driver_info/ipmi_username, driver_info/ipmi_password, resource_class');
});

test('is enrolled once, however often and from wherever it reports', async () => {
  const answers = await Promise.all([send(inventoryOf(mac)), send(inventoryOf(mac)), send(inventoryOf(mac))]);
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  expect((await api.call('GET', '/v1/nodes')).body['nodes']).toHaveLength(1);
});

test.each([
  ['serial number', { ...other, system_vendor: { ...other.system_vendor, serial_number: 'J1' } }],
  ['UUID', { ...other, system_vendor: { ...other.system_vendor, baton_system_uuid: 'u-1' } }],
  ['BMC', { ...other, bmc_address: '192.0.2.100' }],
])('a known %s with other network cards is told to its node, once', async (_, more) => {
  const { body } = await send(inventoryOf(mac));
  const swapped = inventoryOf('52:54:00:00:00:77', more);
  expect((await send(swapped)).status).toBe(404);
  expect((await send(swapped)).status).toBe(404);
  const events = (await historyOf(String(body['uuid']))).filter(({ event }) => event.includes('52:54:00:00:00:77'));
  expect(events).toHaveLength(1);
});

test('firmware without serial numbers does not make all machines one', async () => {
  const anonymous = (address: string, bmc: string) =>
    inventoryOf(address, { bmc_address: bmc, system_vendor: { serial_number: 'To Be Filled By O.E.M.' } });
  expect((await send(anonymous(mac, '192.0.2.100'))).status).toBe(202);
  expect((await send(anonymous('52:54:00:00:00:02', '192.0.2.101'))).status).toBe(202);
});

test('no more are enrolled than the limit', async () => {
  const machine = (number: number) =>
    inventoryOf(`52:54:00:00:00:0${number}`, { bmc_address: `192.0.2.${number}`, system_vendor: null });
  expect([(await send(machine(1))).status, (await send(machine(2))).status]).toEqual([202, 202]);
  const refused = await send(machine(3));
  expect(refused.status).toBe(503);
  expect(refused.fault).toContain('BATON_DISCOVERY_LIMIT is 2');
});
