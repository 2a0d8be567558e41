import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { warnOfCables } from '#conductor/flows/network/node-network.ts';
import { validateNode } from '#conductor/flows/request/validate-node.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { createNetworkConnector } from '#conductor/networks/connect-node.ts';
import { parseNetworksFile } from '#conductor/networks/networks-file.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { applyInspection } from '#conductor/nodes/inspection/apply-inspection.ts';
import { findInventory, latestInventory, recordInspected } from '#conductor/nodes/inspection/inventory-store.ts';
import recordedReport from '#conductor/nodes/inspection/recorded-report.json' with { type: 'json' };
import { listHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const mac = '52:54:00:00:00:01';
const contents = [{ name: '/dev/vda1', size: 7, type: 'ext4', label: 'root' }];
const inventory = {
  interfaces: [
    {
      name: 'eth0',
      mac_address: mac,
      ipv4_address: '192.0.2.5',
      lldp: [
        [1, '04001122334455'],
        [2, `05${Buffer.from('tap1').toString('hex')}`],
      ],
    },
  ],
  cpu: { count: 2, architecture: 'x86_64' },
  memory: { physical_mb: 2048 },
  disks: [{ name: '/dev/vda', size: 8 * 1024 ** 3, serial: 's1', model: null, baton_contents: contents }],
  boot: { current_boot_mode: 'uefi', pxe_interface: mac },
  bmc_address: '192.0.2.100',
};
const report = { inventory, root_disk: { size: 8 * 1024 ** 3 }, logs: 'aGk=', error: null, pci_devices: [] };

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

const inState = (provisionState: 'inspect wait' | 'manageable') =>
  api.context.db.update(nodes).set({ provisionState }).where(eq(nodes.uuid, nodeUuid));
const addPort = (address = mac) => api.call('POST', '/v1/ports', { node_uuid: nodeUuid, address });
const send = (body: unknown = report, version = '', query = '') =>
  api.call('POST', `/v1/continue_inspection${query}`, body, version);

describe('POST /v1/continue_inspection', () => {
  beforeEach(async () => {
    await addPort();
    await inState('inspect wait');
  });

  test('a machine with cards of two nodes under inspection is neither, and both histories say so', async () => {
    const other = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n2' });
    const usb = '02:00:00:00:00:01';
    await api.call('POST', '/v1/ports', { node_uuid: other.uuid, address: usb });
    await api.context.db.update(nodes).set({ provisionState: 'inspect wait' });
    const interfaces = [...inventory.interfaces, { name: 'usb0', mac_address: usb }];
    expect((await send({ ...report, inventory: { ...inventory, interfaces } })).status).toBe(404);
    for (const [node, its] of [
      [nodeUuid, other.uuid],
      [other.uuid, nodeUuid],
    ] as const) {
      const [last] = await listHistory(api.context.db, node, 1);
      expect(last?.event).toMatch(new RegExp(`^a machine has asked .* of this node and of ${its}, .*${usb}`));
    }
  });

  test('without a version it answers the uuid, and keeps all but the logs', async () => {
    const { status, body } = await send();
    expect({ status, body }).toEqual({ status: 202, body: { uuid: nodeUuid } });
    const row = await findInventory(api.context.db, nodeUuid);
    expect(row?.inventory).toEqual(inventory);
    expect(row?.pluginData).toEqual({ root_disk: report.root_disk, error: null, pci_devices: [] });
  });

  test('since 1.84 it answers as a lookup does, with the token', async () => {
    const { status, body } = await send(report, '1.84');
    expect(status).toBe(202);
    expect(body).toMatchObject({
      node: { uuid: nodeUuid },
      config: { agent_token: expect.stringMatching(/^[\w-]{43}$/) as unknown },
    });
    expect((await send(report, '1.83')).status).toBe(404);
  });

  test('a machine is known by its BMC where the node has no such port', async () => {
    const address = { op: 'add', path: '/driver_info/ipmi_address', value: '192.0.2.100' };
    await inState('manageable');
    await api.call('PATCH', '/v1/nodes/n1', [address]);
    await inState('inspect wait');
    const stranger = { inventory: { ...inventory, interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:99' }] } };
    expect((await send(stranger)).body).toEqual({ uuid: nodeUuid });
  });

  test('others are strangers', async () => {
    const stranger = { inventory: { interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:99' }] } };
    expect(await send(stranger)).toMatchObject({ status: 404, fault: 'Resource could not be found.' });
    expect((await send(report, '', '?node_uuid=11111111-1111-4111-8111-111111111111')).status).toBe(404);
    await inState('manageable');
    expect((await send()).status).toBe(404);
  });

  test('strangers don’t make the conductor read whole nodes', async () => {
    const wholeNodes = () => select.mock.calls.filter((columns: readonly unknown[]) => columns.length === 0).length;
    const select = vi.spyOn(api.context.db, 'select');
    try {
      const stranger = { interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:99' }], bmc_address: '192.0.2.7' };
      expect((await send({ inventory: stranger })).status).toBe(404);
      expect([select.mock.calls.length, wholeNodes()]).toEqual([1, 0]);
      expect((await send()).status).toBe(202);
      expect(wholeNodes()).toBe(1);
    } finally {
      select.mockRestore();
    }
  });

  test('refuses what nobody can be known by, naming the field', async () => {
    expect(await send({ inventory: { interfaces: [] } })).toMatchObject({
      status: 400,
      fault: expect.stringContaining('inventory.interfaces[].mac_address') as unknown,
    });
    expect(await send({})).toMatchObject({ status: 400, fault: expect.stringContaining('inventory') as unknown });
    expect((await send(report, '', '?node_uuid=x')).status).toBe(400);
  });

  test('text that the database can’t hold is mended, and more than 1 MiB taken', async () => {
    const hostname = 'a\0b\ud800';
    const large = { ...report, inventory: { ...inventory, hostname }, logs: 'x'.repeat(2 * 1024 * 1024) };
    expect((await send(large)).status).toBe(202);
    expect((await findInventory(api.context.db, nodeUuid))?.inventory['hostname']).toBe('a\ufffdb\ufffd');
  });
});

test('what the real ironic-python-agent 10.2 sends is taken and put to use', async () => {
  const [{ mac_address: address } = { mac_address: '' }] = recordedReport.inventory.interfaces;
  await addPort(address);
  await inState('inspect wait');
  expect(await send(recordedReport)).toMatchObject({ status: 202, body: { uuid: nodeUuid } });
  const row = await findInventory(api.context.db, nodeUuid);
  await api.context.db.transaction((tx) =>
    applyInspection(tx, {
      nodeUuid,
      inventory: row?.inventory ?? {},
      pluginData: row?.pluginData ?? {},
      placeOf: api.context.networks.placeOf,
      conductor: 'c',
      now: new Date(),
    }),
  );
  expect((await api.call('GET', '/v1/nodes/n1')).body['properties']).toEqual({
    cpu_arch: 'x86_64',
    cpus: 2,
    memory_mb: 24_576,
    local_gb: 256,
    capabilities: 'boot_mode:bios',
  });
  // it has not said which card booted
  expect((await api.call('GET', '/v1/ports/detail')).body['ports']).toMatchObject([{ address, pxe_enabled: true }]);
  expect((await api.call('GET', '/v1/nodes/n1/inventory')).body['plugin_data']).toMatchObject({
    pci_devices: [{ vendor_id: '1af4' }],
    valid_interfaces: { eth0: { pxe_enabled: false } },
  });
});

describe('GET /v1/nodes/{node}/inventory', () => {
  test('404 before the first inspection, then both parts', async () => {
    expect(await api.call('GET', '/v1/nodes/n1/inventory')).toMatchObject({
      status: 404,
      fault: `Node inventory record for node ${nodeUuid} could not be found.`,
    });
    await recordInspected(api.context.db, { nodeUuid, inventory, pluginData: { a: 1 } });
    expect((await api.call('GET', '/v1/nodes/n1/inventory')).body).toEqual({ inventory, plugin_data: { a: 1 } });
    expect((await api.call('GET', '/v1/nodes/n1/inventory', undefined, '1.80')).status).toBe(404);
  });

  test('an inspection that says nothing of disks forgets none', async () => {
    const { db } = api.context;
    await recordInspected(db, { nodeUuid, inventory, pluginData: {} });
    const { disks: _, ...silent } = inventory;
    await recordInspected(db, { nodeUuid, inventory: silent });
    expect(await latestInventory(db, nodeUuid)).toMatchObject({ disks: undefined, toMeet: [{ serial: 's1' }] });
    await recordInspected(db, { nodeUuid, inventory: { ...silent, disks: [] } });
    expect(await latestInventory(db, nodeUuid)).toMatchObject({ disks: [], toMeet: [] });
  });

  test('a later look keeps the plugin data, and tells the disks', async () => {
    await recordInspected(api.context.db, { nodeUuid, inventory: {}, pluginData: { a: 1 } });
    expect(await latestInventory(api.context.db, nodeUuid)).toMatchObject({ disks: undefined, toMeet: [] });
    await recordInspected(api.context.db, { nodeUuid, inventory });
    expect((await findInventory(api.context.db, nodeUuid))?.pluginData).toEqual({ a: 1 });
    expect((await latestInventory(api.context.db, nodeUuid))?.disks).toMatchObject([
      { name: '/dev/vda', serial: 's1', model: null, sizeBytes: 8 * 1024 ** 3, contents },
    ]);
  });
});

describe('applyInspection', () => {
  const apply = (found: Record<string, unknown> = inventory) =>
    api.context.db.transaction((tx) =>
      applyInspection(tx, {
        nodeUuid,
        inventory: found,
        pluginData: {},
        placeOf: api.context.networks.placeOf,
        conductor: 'c',
        now: new Date(),
      }),
    );
  const ports = async () => (await api.call('GET', '/v1/ports/detail')).body['ports'];

  test('fills node and ports, and does nothing more the second time', async () => {
    expect(await apply()).toEqual({
      disks: 1,
      interfaces: 1,
      added_ports: [mac],
      learned_switch_ports: { [mac]: '00:11:22:33:44:55 tap1' },
      warnings: [],
    });
    const found = await ports();
    expect(found).toMatchObject([
      {
        address: mac,
        node_uuid: nodeUuid,
        pxe_enabled: true,
        local_link_connection: { switch_id: '00:11:22:33:44:55', port_id: 'tap1' },
      },
    ]);
    const { body } = await api.call('GET', '/v1/nodes/n1');
    expect(body['properties']).toEqual({
      cpu_arch: 'x86_64',
      cpus: 2,
      memory_mb: 2048,
      local_gb: 8,
      capabilities: 'boot_mode:uefi',
    });
    expect(body['inspection_finished_at']).not.toBeNull();
    expect(await apply()).toMatchObject({ added_ports: [], learned_switch_ports: {} });
    expect(await ports()).toEqual(found);
  });

  test('a switch port or an address that is another node’s is left there, with a warning', async () => {
    const other = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n2' })).uuid;
    const link = { switch_id: '00:11:22:33:44:55', port_id: 'tap1' };
    const taken = { node_uuid: other, address: '52:54:00:00:00:02', local_link_connection: link };
    await api.call('POST', '/v1/ports', taken);
    const { warnings } = await apply();
    expect(warnings).toEqual([expect.stringContaining(`${mac} says that it is at switch 00:11:22:33:44:55`)]);
    expect(await ports()).toMatchObject([{}, { address: mac, local_link_connection: {} }]);

    // who owns or leases the node may read it, and not whose the other is
    await api.call('PATCH', '/v1/nodes/n1', [{ op: 'add', path: '/lessee', value: 'p1' }]);
    const [warning] = (await apply()).warnings;
    expect(warning).toContain('where a port of another node is: not recorded');
    expect(warning).not.toContain(other);

    nodeUuid = other;
    expect((await apply()).warnings).toEqual([expect.stringContaining(`${mac} is port`)]);
  });

  test('a cable that is elsewhere than recorded is told, and the record stays', async () => {
    await apply();
    const [port] = (await ports()) as { readonly uuid: string }[];
    const recorded = { switch_id: '00:11:22:33:44:55', port_id: 'tap9' };
    const change = [{ op: 'replace', path: '/local_link_connection', value: recorded }];
    await api.call('PATCH', `/v1/ports/${port?.uuid}`, change);
    expect((await apply()).warnings).toEqual([
      `${mac} is plugged into switch 00:11:22:33:44:55 port tap1, but its local_link_connection says switch ` +
        '00:11:22:33:44:55 port tap9, whose switch port would be moved: correct it, or the cable',
    ]);
    expect(await ports()).toMatchObject([{ local_link_connection: recorded }]);
  });
});

test('a validation tells that a cable is elsewhere than its port says, until that is put right', async () => {
  const switchId = '00:11:22:33:44:55';
  const networks = parseNetworksFile(
    `{switches: [{switch_id: "${switchId}", driver: ovs, endpoint: "unix:/db"}], networks: {a: {vlan: 7}}, defaults: {provisioning: a, cleaning: a, tenant: a}}`,
    'networks.yaml',
    [{ name: 'ovs' }],
  );
  const connector = createNetworkConnector(networks, findSwitchDriver);
  const context = { ...api.context, networks: connector };
  const said = async (portId: string) => {
    await api.context.db.update(ports).set({ localLinkConnection: { switch_id: switchId, port_id: portId } });
    return warnOfCables(context, { uuid: nodeUuid, networkInterface: 'switchport' });
  };
  await addPort();
  expect(await said('tap2')).toEqual([]);
  await recordInspected(api.context.db, { nodeUuid, inventory, pluginData: {} });
  expect(await said('tap1')).toEqual([]);
  expect(await said('tap2')).toEqual([
    expect.stringMatching(
      /^52:54:00:00:00:01 is plugged into switch 00:11:22:33:44:55 port tap1, but its local_link_connection says .* port tap2, .*\(as inventoried 20.*Z\)\.$/,
    ),
  ]);
  await api.call('PATCH', `/v1/nodes/${nodeUuid}`, [{ op: 'add', path: '/network_interface', value: 'switchport' }]);
  const { network } = await validateNode({ ...context }, await getNode(api.context.db, nodeUuid));
  expect(network).toMatchObject({ result: true, reason: expect.stringContaining('is plugged into') });
  expect(await warnOfCables(context, { uuid: nodeUuid, networkInterface: 'noop' })).toEqual([]);
});
