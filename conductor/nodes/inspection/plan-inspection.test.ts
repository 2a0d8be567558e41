import { describe, expect, test } from 'vitest';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { planInspection as planWith } from '#conductor/nodes/inspection/plan-inspection.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

const gib = 1024 ** 3;
const bootMac = '52:54:00:00:00:01';
const otherMac = '52:54:00:00:00:02';
const tlvs = [
  [1, '04001122334455'],
  [2, `05${Buffer.from('tap1').toString('hex')}`],
  [5, Buffer.from('sw1').toString('hex')],
];
const link = { switch_id: '00:11:22:33:44:55', port_id: 'tap1', switch_info: 'sw1' };

function inventory(more: Record<string, unknown> = {}): InventoryDocument {
  return InventoryDocument.parse({
    interfaces: [
      { name: 'eth0', mac_address: bootMac.toUpperCase(), ipv4_address: '192.0.2.5', lldp: tlvs },
      { name: 'eth1', mac_address: otherMac, ipv4_address: null, lldp: null },
    ],
    cpu: { count: 8, architecture: 'x86_64' },
    memory: { physical_mb: 16_384, total: 1 },
    disks: [
      { name: '/dev/sda', size: 900 * gib },
      { name: '/dev/sdb', size: 100.9 * gib },
      { name: '/dev/sdc', size: gib },
    ],
    boot: { current_boot_mode: 'uefi', pxe_interface: bootMac },
    ...more,
  });
}

const port = (more: Partial<PortRow>): PortRow =>
  ({ uuid: 'p1', address: bootMac, pxeEnabled: true, localLinkConnection: {}, ...more }) as PortRow;
const bare = { properties: {} };
const planInspection = (
  node: Parameters<typeof planWith>[0],
  ports: readonly PortRow[],
  report: Omit<Parameters<typeof planWith>[2], 'placeOf'>,
) =>
  planWith(node, ports, {
    placeOf: ({ chassisId, portId }) => ({ switchId: chassisId, portId, isListed: false }),
    ...report,
  });

describe('properties', () => {
  test('cpus, memory, the smallest disk that can be a root, boot mode', () => {
    const properties = { capabilities: 'raid_level:1, boot_mode:bios', rack: 7, cpus: 1 };
    expect(planInspection({ properties }, [], { inventory: inventory() }).properties).toEqual({
      rack: 7,
      cpu_arch: 'x86_64',
      cpus: 8,
      memory_mb: 16_384,
      local_gb: 100,
      capabilities: 'raid_level:1,boot_mode:uefi',
    });
  });

  test('the root disk that the agent names counts; with hints the conductor cannot tell', () => {
    const named = { inventory: inventory(), rootDisk: { size: 900 * gib } };
    expect(planInspection(bare, [], named).properties['local_gb']).toBe(900);
    const hinted = { properties: { root_device: { wwn: '0x5' }, local_gb: 3 } };
    expect(planInspection(hinted, [], named).properties['local_gb']).toBe(3);
  });

  test('what the inventory does not tell stays', () => {
    const silent = inventory({ cpu: null, memory: {}, disks: [], boot: { pxe_interface: bootMac } });
    expect(planInspection({ properties: { cpus: 3 } }, [], { inventory: silent }).properties).toEqual({ cpus: 3 });
  });
});

describe('ports', () => {
  test('the boot interface becomes a port with its switch port', () => {
    const plan = planInspection(bare, [], { inventory: inventory() });
    expect(plan.newPorts).toEqual([{ address: bootMac, pxeEnabled: true, localLinkConnection: link, vendor: null }]);
    expect(plan.portChanges).toEqual([]);
  });

  test.each(['01-52-54-00-00-00-01', bootMac.toUpperCase()])('BOOTIF as %s', (pxeInterface) => {
    const plan = planInspection(bare, [], { inventory: inventory({ boot: { pxe_interface: pxeInterface } }) });
    expect(plan.newPorts.map(({ address }) => address)).toEqual([bootMac]);
  });

  test('where it is not known, those with an address', () => {
    const plan = planInspection(bare, [port({ address: otherMac })], { inventory: inventory({ boot: null }) });
    expect(plan.newPorts).toEqual([{ address: bootMac, pxeEnabled: false, localLinkConnection: link, vendor: null }]);
    expect(plan.portChanges).toEqual([]);
  });

  test("a card that has only given itself an address, as a BMC's USB card, is none of them", () => {
    const usb = (more: object) => ({ name: 'usb0', mac_address: otherMac, ...more });
    const portsOf = (nic: object) =>
      planInspection(bare, [], {
        inventory: inventory({
          boot: null,
          interfaces: [{ name: 'eno1', mac_address: bootMac, ipv4_address: '10.0.0.5' }, usb(nic)],
        }),
      }).newPorts.map(({ address }) => address);
    expect(portsOf({ ipv4_address: '169.254.3.17' })).toEqual([bootMac]);
    expect(portsOf({ ipv4_address: '169.254.3.17', ipv6_address: 'fe80::5054:ff:fe00:2' })).toEqual([bootMac]);
    expect(portsOf({ ipv6_address: 'FE80::1' })).toEqual([bootMac]);
    expect(portsOf({ ipv4_address: '169.254.3.17', ipv6_address: '2001:db8::2' })).toEqual([bootMac, otherMac]);
    expect(portsOf({ ipv4_address: '169.25.4.1' })).toEqual([bootMac, otherMac]);
  });

  test('a known port gets the switch port that it lacks, and whether it boots', () => {
    const other = port({ uuid: 'p2', address: otherMac });
    const plan = planInspection(bare, [port({}), other], { inventory: inventory() });
    expect(plan.newPorts).toEqual([]);
    expect(plan.portChanges).toEqual([
      { port: port({}), change: { localLinkConnection: link } },
      { port: other, change: { pxeEnabled: false } },
    ]);
  });

  test("a port without vendor gets its card's, and a new one has it", () => {
    const card = { name: 'eth0', mac_address: bootMac, ipv4_address: '192.0.2.5' };
    const planFor = (vendor: unknown, ports: readonly PortRow[]) =>
      planInspection(bare, ports, { inventory: inventory({ interfaces: [{ ...card, vendor }] }) });
    expect(planFor('0x8086', []).newPorts).toMatchObject([{ vendor: '0x8086' }]);
    expect(planFor('0x8086', [port({ vendor: null })]).portChanges).toMatchObject([{ change: { vendor: '0x8086' } }]);
    expect(planFor('0x8086', [port({ vendor: 'green' })]).portChanges).toEqual([]);
    for (const unusable of ['x'.repeat(33), '', null, 7])
      expect(planFor(unusable, []).newPorts).toMatchObject([{ vendor: null }]);
  });

  test("an operator's switch port is never overwritten", () => {
    const reported = port({ localLinkConnection: { switch_id: 'aa', port_id: 'b' } });
    expect(planInspection(bare, [reported], { inventory: inventory() }).portChanges).toEqual([]);
  });

  test('a cable that is elsewhere than recorded is named; one at the same port in other letters is not', () => {
    const recorded = (portId: string) => port({ localLinkConnection: { ...link, port_id: portId } });
    const moved = (portId: string) => planInspection(bare, [recorded(portId)], { inventory: inventory() }).movedCables;
    expect(moved('tap2')).toEqual([
      { port: recorded('tap2'), heard: { switchId: link.switch_id, portId: link.port_id, isListed: false } },
    ]);
    expect(moved('TAP1')).toEqual([]);
    expect(planInspection(bare, [port({})], { inventory: inventory() }).movedCables).toEqual([]);
  });

  test('half of a switch port is none', () => {
    const halves = [{ name: 'eth0', mac_address: bootMac, lldp: tlvs.slice(0, 1) }];
    expect(planInspection(bare, [port({})], { inventory: inventory({ interfaces: halves }) }).portChanges).toEqual([]);
  });

  test('an inventory without a usable card is refused, naming those it has', () => {
    const interfaces = [
      { name: 'eth9', mac_address: otherMac },
      { name: null, mac_address: bootMac },
      { name: 'x', mac_address: 'y' },
    ];
    expect(() => planInspection(bare, [], { inventory: inventory({ interfaces }) })).toThrow(
      `boot interface's MAC address ${bootMac}; it has eth9 ${otherMac}`,
    );
    expect(() => planInspection(bare, [], { inventory: inventory({ interfaces: [], boot: null }) })).toThrow(
      'with an address; it has none',
    );
  });
});

describe('by the BMC', () => {
  const shown = (more: Record<string, unknown> = {}) =>
    planInspection(bare, [], { inventory: inventory({ boot: null, ...more }), byBmc: true });

  test('all cards but those that are switched off become ports, which may all boot', () => {
    expect(shown().newPorts.map(({ address, pxeEnabled }) => [address, pxeEnabled])).toEqual([
      [bootMac, true],
      [otherMac, true],
    ]);
    const interfaces = [
      { name: 'NIC.1', mac_address: bootMac, baton_disabled: true },
      { name: 'NIC.2', mac_address: otherMac },
    ];
    expect(shown({ interfaces }).newPorts.map(({ address }) => address)).toEqual([otherMac]);
    expect(shown({ interfaces: [] }).newPorts).toEqual([]);
  });

  test('beside a port that boots the others do not, and none changes', () => {
    const plan = planInspection(bare, [port({})], {
      inventory: inventory({ boot: null, interfaces: [] }),
      byBmc: true,
    });
    expect(plan.portChanges).toEqual([]);
    const beside = planInspection(bare, [port({ vendor: null })], {
      inventory: inventory({ boot: null }),
      byBmc: true,
    });
    expect(beside.newPorts).toMatchObject([{ address: otherMac, pxeEnabled: false }]);
    expect(beside.portChanges.every(({ change }) => change.pxeEnabled === undefined)).toBe(true);
  });

  test('a boot mode that the node has been given stays', () => {
    const planFor = (capabilities: string) =>
      planInspection({ properties: { capabilities } }, [], { inventory: inventory(), byBmc: true }).properties;
    expect(planFor('boot_mode:bios')['capabilities']).toBe('boot_mode:bios');
    expect(planFor('rack:7')['capabilities']).toBe('rack:7,boot_mode:uefi');
  });
});

test('plugin data are those of Ironic’s hooks', () => {
  const { pluginData } = planInspection(bare, [], { inventory: inventory() });
  expect(pluginData.all_interfaces).toMatchObject({
    eth0: { mac_address: bootMac, pxe_enabled: true },
    eth1: { mac_address: otherMac, pxe_enabled: false },
  });
  expect(Object.keys(pluginData.valid_interfaces)).toEqual(['eth0']);
  expect(pluginData.parsed_lldp).toMatchObject({ eth0: { switch_port_id: 'tap1', switch_system_name: 'sw1' } });
});

test('LLDP that makes no sense costs nothing else', () => {
  const interfaces = [{ name: 'eth0', mac_address: bootMac, lldp: [['x', 7]] }];
  expect(planInspection(bare, [], { inventory: inventory({ interfaces }) }).pluginData.parsed_lldp).toEqual({});
});
