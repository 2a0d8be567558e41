import { describe, expect, test } from 'vitest';
import { checkSameLayout, planPartitionLayout, type RequestedLayout } from '#agent/storage/partition-layout.ts';

const mib = 1024 * 1024;
const disk = { name: '/dev/vda', sizeBytes: 4000 * mib };
const requested: RequestedLayout = {
  bootMode: 'uefi',
  label: 'gpt',
  ephemeralMib: 0,
  swapMib: 0,
  hasConfigDrive: false,
  rootMib: 1000,
};
const all = { ephemeralMib: 100, swapMib: 200, hasConfigDrive: true };

function plan(fields: Partial<RequestedLayout>, on = disk): unknown {
  return planPartitionLayout({ ...requested, ...fields }, on).partitions.map(
    ({ role, number, startBytes, sizeBytes }) => [number, role, startBytes / mib, sizeBytes / mib],
  );
}

describe('the order is Ironic’s', () => {
  test('UEFI', () => {
    expect(plan(all)).toEqual([
      [1, 'efi', 1, 550],
      [2, 'ephemeral', 551, 100],
      [3, 'swap', 651, 200],
      [4, 'config-drive', 851, 64],
      [5, 'root', 915, 1000],
    ]);
  });

  test('BIOS with a GPT', () => {
    expect(plan({ bootMode: 'bios' })).toEqual([
      [1, 'bios-boot', 1, 1],
      [2, 'root', 2, 1000],
    ]);
  });

  test('BIOS with an MBR: four partitions at most', () => {
    expect(plan({ ...all, bootMode: 'bios', label: 'msdos' })).toHaveLength(4);
    expect(plan({ bootMode: 'bios', label: 'msdos' })).toEqual([[1, 'root', 1, 1000]]);
  });

  test('names are those that cloud-init and Ironic know, and only a GPT has them', () => {
    const names = (label: 'gpt' | 'msdos') =>
      planPartitionLayout({ ...requested, ...all, bootMode: 'bios', label }, disk).partitions.map(({ name }) => name);
    expect(names('gpt')).toEqual(['bios-boot', 'ephemeral0', 'swap1', 'config-2', 'root']);
    expect(names('msdos')).toEqual([null, null, null, null]);
  });
});

test('room for the tables is counted', () => {
  expect(plan({}, { ...disk, sizeBytes: 1552 * mib })).toHaveLength(2);
  expect(() => plan({}, { ...disk, sizeBytes: 1551 * mib })).toThrow(
    'disk /dev/vda is too small: its 1551 MiB do not hold the partitions (MiB: efi 550, root 1000)',
  );
});

test('what an MBR can not do', () => {
  expect(() => plan({ label: 'msdos' })).toThrow(/disk_label is "msdos", but UEFI/);
  const huge = { name: '/dev/vda', sizeBytes: 4 * 1024 ** 4 };
  expect(() => plan({ bootMode: 'bios', label: 'msdos', rootMib: 2 * 1024 * 1024 }, huge)).toThrow(/more than 2 TiB/);
});

test('a disk laid out as planned', () => {
  const planned = planPartitionLayout({ ...requested, swapMib: 10 }, disk);
  const without = { ...planned, partitions: planned.partitions.slice(0, 2) };
  const extra = { ...planned, partitions: [...planned.partitions, { ...planned.partitions[0], number: 4 }] };
  const fault = (found: Parameters<typeof checkSameLayout>[1]) => () => checkSameLayout(planned, found, '/dev/vda');
  expect(fault(planned)).not.toThrow();
  expect(fault({ label: 'none' })).toThrow(
    /preserve_ephemeral is set, but disk \/dev\/vda .* it has no partition table/,
  );
  expect(fault({ label: 'unknown', is: 'sun' })).toThrow(
    /it has a partition table of kind sun, which is not read here/,
  );
  expect(fault({ ...planned, label: 'msdos' })).toThrow(/its table is msdos, not gpt/);
  expect(fault(without)).toThrow(/partition 3 \(root\) is not there, not 1048576000 bytes at 588251136/);
  expect(fault(extra as typeof planned)).toThrow(/it has more partitions/);
});
