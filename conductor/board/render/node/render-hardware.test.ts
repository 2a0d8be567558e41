import { expect, test } from 'vitest';
import type { NodeSwitchPort } from '#conductor/api/node-parts.ts';
import { formatMoment } from '#conductor/board/render/clock.ts';
import { renderHardware } from '#conductor/board/render/node/render-hardware.ts';
import { textOf } from '#conductor/board/testing/text-of.ts';

const hostile = '"><script>';

test('hardware as it was seen, and proved wipes', () => {
  const html = renderHardware({
    inventory: {
      system_vendor: {
        manufacturer: 'ACME',
        product_name: 'R1',
        serial_number: 'S1',
        firmware: { version: '2.1', build_date: '01/02/2026' },
        baton_board: { manufacturer: 'ACME', model: 'B7' },
      },
      cpu: { model_name: 'Fast', count: 8 },
      memory: {
        physical_mb: 65_536,
        baton_slots: 2,
        baton_modules: [{ slot: 'A1', size_mb: 65_536, type: 'DDR5', speed_mts: 4800, serial_number: 'M1' }],
      },
      baton_accelerators: [{ address: '0000:17:00.0', class: '3D controller', vendor: 'NVIDIA', product_id: '20f1' }],
      baton_pci_devices: [{ address: '0000:5e:00.0', product: 'ConnectX-6', driver: 'mlx5_core' }],
      bmc_address: '192.0.2.1',
      baton_bmc_firmware: '2.88',
      disks: [
        {
          name: '/dev/sda',
          model: 'M',
          serial: 'D1',
          size: 8e12,
          rotational: true,
          baton_firmware: 'F1',
          baton_health: { passed: false, bad_sectors: 32, percent_used: null, temperature_c: 41 },
        },
        { name: '/dev/sdb', baton_health: { passed: true, bad_sectors: 0, percent_used: 3 } },
      ],
      interfaces: [
        {
          name: 'eth0',
          mac_address: '52:54:00:00:00:01',
          ipv4_address: null,
          has_carrier: true,
          speed_mbps: 10_000,
          baton_firmware: 'N1',
        },
        { name: 'eth1', mac_address: '52:54:00:00:00:02', has_carrier: false, speed_mbps: null },
      ],
    },
    switchPorts: [],
    receipts: [{ id: 'r1', signed_at: '2026-01-01T00:10:00Z', disks_wiped: 2, disks_left_alone: 1 }],
  });
  expect(textOf(html)).toBe(
    'Hardware ACME R1 · serial S1 · board ACME B7 · firmware 2.1 01/02/2026 · 8 × Fast · ' +
      '64 GiB of memory in 1 of 2 places · BMC at 192.0.2.1 · BMC firmware 2.88 ' +
      'Disks Disk Model Serial Size Kind Firmware Health /dev/sda M D1 8.0 TB turns F1 ✖ is failing , 32 bad sectors, 41 °C ' +
      '/dev/sdb ✓ passed, 3 % worn ' +
      'Network Link Interface MAC address Address Firmware ● up, 10000 Mbit/s eth0 52:54:00:00:00:01 N1 ○ down eth1 52:54:00:00:00:02 ' +
      'GPUs and other accelerators Address What Maker Model Driver 0000:17:00.0 3D controller NVIDIA 20f1 ' +
      'Memory modules: 1 Place Size Type Runs at Maker Part Serial A1 64 GiB DDR5 4800 MT/s M1 ' +
      'PCI devices: 1 Address What Maker Model Driver 0000:5e:00.0 ConnectX-6 mlx5_core ' +
      'Receipts of wipes Receipt Signed Disks wiped Disks left alone r1 ' +
      `${formatMoment('2026-01-01T00:10:00Z')} 2 1`,
  );
  expect(String(html)).toContain('href="api/v1.0/receipts/r1"');
});

test('what agents of others leave out is left out, and what machines say stays text', () => {
  expect(String(renderHardware({ inventory: undefined, switchPorts: [], receipts: [] }))).toBe('');
  const nothing = {
    system_vendor: null,
    cpu: null,
    memory: { baton_modules: 5 },
    baton_pci_devices: [null, 'x'],
    disks: [{ baton_health: 'good' }],
    interfaces: [{ name: { a: 1 } }],
  };
  expect(textOf(renderHardware({ inventory: nothing as never, switchPorts: [], receipts: [] }))).toContain('○ down');
  const html = renderHardware({
    inventory: {
      system_vendor: {
        manufacturer: hostile,
        product_name: hostile,
        serial_number: hostile,
        baton_board: { model: hostile },
      },
      cpu: { model_name: hostile },
      bmc_address: hostile,
      memory: { baton_modules: [{ slot: hostile, type: hostile, serial_number: hostile }] },
      baton_pci_devices: [{ address: hostile, class: hostile, vendor: hostile, product: hostile, driver: hostile }],
      baton_bmc_firmware: hostile,
      disks: [{ name: hostile, model: hostile, serial: hostile, baton_firmware: hostile }],
      interfaces: [{ name: hostile, mac_address: hostile, ipv4_address: hostile, baton_firmware: hostile }],
    },
    switchPorts: [],
    receipts: [{ id: hostile, signed_at: hostile, disks_wiped: 0, disks_left_alone: 0 }],
  });
  expect(String(html)).not.toContain('<script');
});

test('where it is plugged in; a port that somebody else has set stands out', () => {
  const port: NodeSwitchPort = {
    port_uuid: 'p1',
    address: '52:54:00:00:00:01',
    switch_id: '00:1c:73:00:00:00',
    port_id: hostile,
    network: 'tenant',
    applied_at: '2026-01-01T00:00:00Z',
    looked_at: '2026-01-01T00:10:00Z',
    wanted: { untagged: 200, tagged: [] },
    found: { untagged: 1, tagged: [] },
    wanted_bond: null,
    found_bond: null,
    differs: true,
    differences: [],
    commands: [],
    error: null,
  };
  const away = { ...port, network: null, wanted: { untagged: null, tagged: [] }, found: null, differs: false };
  const html = renderHardware({
    inventory: undefined,
    switchPorts: [port, { ...away, port_id: 'et2' }, { ...away, port_id: 'et3', error: 'no answer' }],
    receipts: [],
  });
  expect(textOf(html)).toContain(`tenant VLAN 200 ✖ VLAN 1 ${formatMoment('2026-01-01T00:10:00Z')}`);
  expect(textOf(html)).toContain('et2 isolated isolated not yet');
  expect(textOf(html)).toContain('et3 isolated isolated not read: no answer');
  expect(String(html)).not.toContain('<script');
});
