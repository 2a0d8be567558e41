import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { forgetDiscovered } from '#conductor/flows/request/remove-node.ts';
import { createApp } from '#conductor/http/app.ts';
import { countDiscoveries } from '#conductor/http/doors/count-discoveries.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { requireRoom } from '#conductor/nodes/inspection/discovery-shares.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Machines that no node is known by report themselves, with BATON_DISCOVERY. */

const mac = '52:54:00:00:00:01';
const uuid = '9402de03-8004-0605-f806-d50700080a09';
const vendor = { manufacturer: 'Lenovo', product_name: 'SR630', serial_number: 'J1', baton_system_uuid: uuid };
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
  system_vendor: { ...vendor, serial_number: 'J2', baton_system_uuid: '7d0c5d41-3a1e-11eb-8000-7cc2550aa102' },
};

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_DISCOVERY: 'true', BATON_DISCOVERY_LIMIT: '2' } });
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const send = (inventory: Record<string, unknown>, version = '') =>
  api.call('POST', '/v1/continue_inspection', { inventory }, version);
const nodeOf = async (address: string) =>
  ((await api.call('GET', `/v1/ports/detail?address=${address}`)).body['ports'] as { node_uuid: string }[])[0]
    ?.node_uuid;
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

test.each([
  ['no card has an address', { interfaces: [{ name: 'eth0', mac_address: mac }], boot: null }, 'is usable'],
  ['memory is none', { memory: 'much' }, 'inventory'],
])('a report that nobody can enrol is its sender’s fault: %s', async (_, more, fault) => {
  const answer = await send(inventoryOf(mac, more));
  expect(answer).toMatchObject({ status: 400, fault: expect.stringContaining(fault) as unknown });
  expect((await api.call('GET', '/v1/nodes')).body['nodes']).toEqual([]);
});

test('is enrolled once, however often and from wherever it reports', async () => {
  const answers = await Promise.all([send(inventoryOf(mac)), send(inventoryOf(mac)), send(inventoryOf(mac))]);
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
  expect((await api.call('GET', '/v1/nodes')).body['nodes']).toHaveLength(1);
});

/** Reports as from a network. */
const report = (context: TestApi['context'], index: number, remoteAddress: string) => {
  const hex = index.toString(16).padStart(4, '0');
  const inventory = inventoryOf(`52:54:00:01:${hex.slice(0, 2)}:${hex.slice(2)}`, {
    bmc_address: `198.51.100.${index}`,
    system_vendor: { serial_number: `S${index}` },
  });
  const headers = { 'Content-Type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify({ inventory }) };
  return createApp(context).request('/v1/continue_inspection', init, { incoming: { socket: { remoteAddress } } });
};

test('no address and no network takes what is left of the limit', async () => {
  const { config } = api.context;
  const discovery = { driver: 'ipmi', forgetMs: 0, limit: 16 };
  const context = { ...api.context, config: { ...config, discovery } };
  const outcomes: [string, number][] = [];
  const from = async (address: string, first: number) => {
    const answer = await report(context, first, address);
    outcomes.push([address, answer.status]);
    return answer.text();
  };
  await from('192.0.2.1', 1);
  await from('192.0.2.1', 2);
  expect(await from('192.0.2.1', 3)).toContain(
    '2 nodes in enroll have reported themselves from 192.0.2.1, and no more',
  );
  for (let index = 4; index < 10; index += 1) await from(`192.0.2.${index}`, index);
  expect(await from('192.0.2.77', 77)).toContain('8 nodes in enroll have reported themselves from 192.0.2.0/24');
  await from('203.0.113.5', 100);
  await from('2001:db8:1:2::5', 101);
  expect(outcomes.filter(([, status]) => status !== 202)).toEqual([
    ['192.0.2.1', 503],
    ['192.0.2.77', 503],
  ]);
  // known, it reports again
  expect(await from('192.0.2.1', 1)).not.toContain('enroll');
});

test('an address reports so many unknown machines in a minute', async () => {
  const app = countDiscoveries(api.context.clock);
  const source = app({ env: { incoming: { socket: { remoteAddress: '::ffff:192.0.2.9' } } } } as never);
  expect(source).toMatchObject({ address: '192.0.2.9', network: '192.0.2.0/24' });
  expect(app({ env: { incoming: { socket: { remoteAddress: '2001:db8::5' } } } } as never)?.network).toBe(
    '2001:db8:0::/48',
  );
  for (let index = 0; index < 60; index += 1) source?.count();
  expect(source?.waitSeconds()).toBeGreaterThan(0);
  const refused = requireRoom(api.context.db, source, 1000);
  await expect(refused).rejects.toThrow(/192\.0\.2\.9 has reported too many unknown machines; the next in \d+ s/);
});

test.each([
  ['serial number', { ...other, system_vendor: { ...other.system_vendor, serial_number: 'J1' } }],
  ['UUID', { ...other, system_vendor: { ...other.system_vendor, baton_system_uuid: uuid } }],
  [
    'UUID, turned by an update of the BIOS,',
    { ...other, system_vendor: { ...other.system_vendor, baton_system_uuid: '03DE0294-0480-0506-F806-D50700080A09' } },
  ],
  ['BMC', { ...other, bmc_address: '192.0.2.100' }],
])('a known %s with other network cards is told to its node, once', async (_, more) => {
  const { body } = await send(inventoryOf(mac));
  const swapped = inventoryOf('52:54:00:00:00:77', more);
  expect((await send(swapped)).status).toBe(404);
  expect((await send(swapped)).status).toBe(404);
  const events = (await historyOf(String(body['uuid']))).filter(({ event }) => event.includes('52:54:00:00:00:77'));
  expect(events).toHaveLength(1);
});

test.each([
  ['To Be Filled By O.E.M.', null],
  ['0123456789', null],
  ['Default string', '03000200-0400-0500-0006-000700080009'],
  ['', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
])('firmware that says %j and %j does not make all machines one', async (serial, systemUuid) => {
  const anonymous = (address: string, bmc: string) =>
    inventoryOf(address, {
      bmc_address: bmc,
      system_vendor: { product_name: 'X1', serial_number: serial, baton_system_uuid: systemUuid },
    });
  expect((await send(anonymous(mac, '192.0.2.100'))).status).toBe(202);
  expect((await send(anonymous('52:54:00:00:00:02', '192.0.2.101'))).status).toBe(202);
});

test('a link to the BMC that has one address on all machines does not make them one', async () => {
  const link = { name: 'usb0', mac_address: 'be:3a:f2:b6:05:9f', ipv4_address: '169.254.3.1', driver: 'cdc_ether' };
  const machine = (address: string, bmc: string) => {
    const { interfaces, ...rest } = inventoryOf(address, { bmc_address: bmc, system_vendor: null, boot: null });
    return { ...rest, interfaces: [link, ...interfaces] };
  };
  expect((await send(machine(mac, '192.0.2.100'))).status).toBe(202);
  expect((await send(machine('52:54:00:00:00:02', '192.0.2.101'))).status).toBe(202);
  expect(await nodeOf(link.mac_address)).toBeUndefined();
});

test('where several nodes may be the machine, each hears of it', async () => {
  const first = await send(inventoryOf(mac));
  const second = await send(inventoryOf('52:54:00:00:00:02', other));
  const mixed = { ...other.system_vendor, serial_number: 'J1' };
  const third = inventoryOf('52:54:00:00:00:77', { bmc_address: '192.0.2.109', system_vendor: mixed });
  expect((await send(third)).status).toBe(404);
  for (const { body } of [first, second]) {
    const events = (await historyOf(String(body['uuid']))).map(({ event }) => event).join('\n');
    expect(events).toContain('52:54:00:00:00:77');
  }
});

test('reports with ever new cards leave one entry, and what people have done stays', async () => {
  const { body } = await send(inventoryOf(mac));
  const node = String(body['uuid']);
  await api.call('PUT', `/v1/nodes/${node}/maintenance`, { reason: 'fan' });
  const before = await historyOf(node);
  for (let card = 16; card < 60; card += 1) {
    expect((await send(inventoryOf(`52:54:00:00:01:${card}`))).status).toBe(404);
  }
  const after = await historyOf(node);
  expect(after.length).toBe(before.length + 1);
  expect(after.map(({ event }) => event).join('\n')).toContain('52:54:00:00:01:59');
});

test('a machine that stays away is forgotten, unless somebody has touched it; one that boots is not', async () => {
  const [lost, booting, touched] = ['52:54:00:00:00:01', '52:54:00:00:00:02', '52:54:00:00:00:03'] as const;
  const machine = (address: string) => inventoryOf(address, { bmc_address: null, system_vendor: null });
  const { context } = api;
  const day = 86_400_000;
  const discovery = { driver: 'ipmi', limit: 9, forgetMs: 2 * day };
  const after = async (days: number, forgetMs = discovery.forgetMs) => {
    const now = () => new Date(Date.now() + days * day);
    const config = { ...context.config, discovery: { ...discovery, forgetMs } };
    await forgetDiscovered({ ...context, config, clock: { ...context.clock, now } });
    const { body } = await api.call('GET', '/v1/ports');
    return (body['ports'] as { address: string }[]).map(({ address }) => address).sort();
  };
  await send(machine(lost));
  await send(machine(booting));
  const { db } = context;
  await db.update(nodes).set({ inspectionFinishedAt: new Date(Date.now() - 1.5 * day) });
  expect((await send(machine(booting))).status, 'known').toBe(404);
  expect(await after(1)).toEqual([booting]);
  const kept = await nodeOf(booting);
  await send(machine(touched));
  await api.call('PATCH', `/v1/nodes/${await nodeOf(touched)}`, [{ op: 'add', path: '/extra/owner', value: 'me' }]);
  expect(await after(1.9)).toEqual([booting, touched]);
  expect(await after(2.1, 0), '0 = never').toEqual([booting, touched]);
  expect(await after(2.1)).toEqual([touched]);
  expect((await api.call('GET', `/v1/nodes/${kept}`)).status).toBe(404);
  expect((await send(machine(booting))).status, 'and is enrolled when it boots again').toBe(202);
});

test('no more are enrolled than the limit', async () => {
  const machine = (number: number) =>
    inventoryOf(`52:54:00:00:00:0${number}`, { bmc_address: `192.0.2.${number}`, system_vendor: null });
  expect([(await send(machine(1))).status, (await send(machine(2))).status]).toEqual([202, 202]);
  const refused = await send(machine(3));
  expect(refused.status).toBe(503);
  expect(refused.fault).toContain('BATON_DISCOVERY_LIMIT is 2');
});
