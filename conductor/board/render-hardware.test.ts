import { expect, test } from 'vitest';
import { renderHardware } from '#conductor/board/render-hardware.ts';

const hostile = '"><script>';
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

test('hardware as it was seen, and proved wipes', () => {
  const html = renderHardware({
    inventory: {
      system_vendor: { manufacturer: 'ACME', product_name: 'R1', serial_number: 'S1' },
      cpu: { model_name: 'Fast', count: 8 },
      memory: { physical_mb: 65_536 },
      bmc_address: '192.0.2.1',
      disks: [{ name: '/dev/sda', model: 'M', serial: 'D1', size: 8e12, rotational: true }],
      interfaces: [
        { name: 'eth0', mac_address: '52:54:00:00:00:01', ipv4_address: null, has_carrier: true, speed_mbps: 10_000 },
        { name: 'eth1', mac_address: '52:54:00:00:00:02', has_carrier: false, speed_mbps: null },
      ],
    },
    receipts: [{ id: 'r1', signed_at: '2026-01-01T00:10:00Z', disks_wiped: 2, disks_left_alone: 1 }],
  });
  expect(textOf(html)).toBe(
    'Hardware ACME R1 · serial S1 · 8 × Fast · 64 GiB of memory · BMC at 192.0.2.1 ' +
      'Disks Disk Model Serial Size Kind /dev/sda M D1 8.0 TB turns ' +
      'Network Link Interface MAC address Address ● up, 10000 Mbit/s eth0 52:54:00:00:00:01 ○ down eth1 52:54:00:00:00:02 ' +
      'Receipts of wipes Receipt Signed Disks wiped Disks left alone r1 2026-01-01 00:10 2 1',
  );
  expect(html).toContain('href="api/v1.0/receipts/r1"');
});

test('what agents of others leave out is left out, and what machines say stays text', () => {
  expect(renderHardware({ inventory: undefined, receipts: [] })).toBe('');
  const nothing = { system_vendor: null, cpu: null, memory: {}, disks: [{}], interfaces: [{ name: { a: 1 } }] };
  expect(textOf(renderHardware({ inventory: nothing as never, receipts: [] }))).toContain('○ down');
  const html = renderHardware({
    inventory: {
      system_vendor: { manufacturer: hostile, product_name: hostile, serial_number: hostile },
      cpu: { model_name: hostile },
      bmc_address: hostile,
      disks: [{ name: hostile, model: hostile, serial: hostile }],
      interfaces: [{ name: hostile, mac_address: hostile, ipv4_address: hostile }],
    },
    receipts: [{ id: hostile, signed_at: hostile, disks_wiped: 0, disks_left_alone: 0 }],
  });
  expect(html).not.toContain('<script');
});
