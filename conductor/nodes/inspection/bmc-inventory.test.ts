import { describe, expect, test } from 'vitest';
import type { ShownMachine } from '#conductor/drivers/shown-machine.ts';
import { inventoryByBmc, isByBmc, joinInventory, joinPluginData } from '#conductor/nodes/inspection/bmc-inventory.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

const disk = (name: string, more = {}) => ({
  name,
  sizeBytes: 100,
  model: null,
  vendor: null,
  serial: null,
  wwn: null,
  rotational: null,
  tran: null,
  ...more,
});
const card = (index: number) => ({
  name: `NIC.${index}`,
  mac: `52:54:00:00:00:0${index}`,
  isDisabled: false,
  hasLink: undefined,
  speedMbps: undefined,
});
const machine: ShownMachine = {
  vendor: { manufacturer: 'Maker', model: 'Model', serial: 'S1', uuid: 'ABC' },
  cpu: { architecture: 'x86_64', count: 8, sockets: 1, model: 'CPU', maxMhz: undefined },
  memoryMb: 1024,
  cards: [card(1), card(2)],
  disks: [disk('Bay.0'), disk('Bay.1')],
  unknown: [],
};
const show = (more: Partial<ShownMachine> = {}) => inventoryByBmc({ ...machine, ...more });
const nothing = {
  vendor: { manufacturer: undefined, model: undefined, serial: undefined, uuid: undefined },
  cpu: undefined,
  memoryMb: undefined,
  cards: [],
  disks: [],
  unknown: (['cpu', 'memory', 'interfaces', 'disks'] as const).map((part) => ({ part, why: 'it does not answer' })),
};
const seen = {
  interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:01', ipv4_address: '192.0.2.1', lldp: [[1, '04']] }],
  disks: [{ name: '/dev/sda', size: 99, serial: 'D' }],
  cpu: { count: 4, architecture: 'x86_64', flags: ['avx'] },
  memory: { physical_mb: 512, total: 500 },
  boot: { current_boot_mode: 'bios', pxe_interface: '52:54:00:00:00:01' },
  system_vendor: { manufacturer: 'As SMBIOS has it', product_name: 'P', serial_number: null },
  hostname: 'h',
};
const namesIn = (list: unknown) => (list as { name: string }[]).map(({ name }) => name);

test('what a BMC shows has the form of an inventory, and says whose word it is', () => {
  const inventory = show({ unknown: [{ part: 'disks', why: 'GET x: 500' }] });
  expect(InventoryDocument.parse(inventory)).toMatchObject({
    interfaces: [{ name: 'NIC.1', mac_address: '52:54:00:00:00:01' }, { name: 'NIC.2' }],
    disks: [{ name: 'Bay.0', size: 100 }, { name: 'Bay.1' }],
    cpu: { count: 8, architecture: 'x86_64' },
    memory: { physical_mb: 1024 },
    system_vendor: { manufacturer: 'Maker', serial_number: 'S1' },
    baton_by_bmc: ['cpu', 'memory', 'interfaces', 'disks'],
    baton_unknown_to_bmc: { disks: ['GET x: 500'] },
  });
});

test('a part that a BMC does not show is absent, not empty', () => {
  expect(show(nothing)).toMatchObject({ cpu: {}, memory: {}, baton_by_bmc: [] });
  expect('disks' in show(nothing)).toBe(false);
});

describe('over what a ramdisk has seen', () => {
  test('its disks, names and addresses stay, the rest is new or added', () => {
    const joined = joinInventory(seen, show());
    expect(joined).toMatchObject({
      disks: seen.disks,
      cpu: { count: 8, flags: ['avx'] },
      memory: { physical_mb: 1024, total: 500 },
      boot: seen.boot,
      system_vendor: { manufacturer: 'As SMBIOS has it', product_name: 'P', serial_number: 'S1' },
      hostname: 'h',
      baton_by_bmc: [],
    });
    expect(joined['interfaces']).toMatchObject([seen.interfaces[0]!, { name: 'NIC.2' }]);
    expect(isByBmc(joined, 'disks')).toBe(false);
  });

  test('a BMC that shows nothing takes nothing away', () => {
    const { system_vendor: _vendor, ...parts } = seen;
    expect(joinInventory(seen, show(nothing))).toMatchObject(parts);
    const { disks: _, ...withoutDisks } = seen;
    const joined = joinInventory(withoutDisks, show());
    expect(isByBmc(joined, 'disks')).toBe(true);
    expect(joinInventory(joined, show(nothing))['disks']).toEqual(joined['disks']);
  });

  test('a ramdisk that found no disks has found none', () => {
    expect(joinInventory({ ...seen, disks: [] }, show())['disks'] ?? []).toEqual([]);
  });

  test('what it has said of a card stays in the plugin data', () => {
    const before = { all_interfaces: { eth0: { mac_address: 'a', pxe_enabled: true } }, boot_interface: 'a' };
    const shown = {
      all_interfaces: { n1: { mac_address: 'a' }, n2: { mac_address: 'b' } },
      parsed_lldp: { n2: { x: 1 } },
    };
    expect(joinPluginData(before, shown)).toEqual({
      all_interfaces: { eth0: { mac_address: 'a', pxe_enabled: true }, n2: { mac_address: 'b' } },
      parsed_lldp: { n2: { x: 1 } },
      boot_interface: 'a',
    });
  });
});

test('what the BMC showed before goes only where it shows the whole part now', () => {
  const before = show();
  const fewer = { cards: [card(2)], disks: [disk('Bay.1', { sizeBytes: 200 })] };
  const whole = joinInventory(before, show(fewer));
  expect([namesIn(whole['interfaces']), namesIn(whole['disks'])]).toEqual([['NIC.2'], ['Bay.1']]);
  const unknown = (['interfaces', 'disks'] as const).map((part) => ({ part, why: 'one can not be read' }));
  const partly = joinInventory(before, show({ ...fewer, unknown }));
  expect(namesIn(partly['interfaces'])).toEqual(['NIC.1', 'NIC.2']);
  expect(partly['disks']).toMatchObject([{ name: 'Bay.1', size: 200 }, { name: 'Bay.0' }]);
});
