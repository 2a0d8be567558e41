import { expect, test } from 'vitest';
import { bootDisksOf } from '#agent/boot/find-deployed-disk.ts';
import { ensureBootPartitions } from '#agent/boot/raid-boot-partitions.ts';
import { raidMachine } from '#agent/raid/testing/raid-machine.ts';
import type { DiskTable } from '#agent/storage/sfdisk.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';

const member = { number: 1, startBytes: 551 * 1024 ** 2, sizeBytes: 1024 ** 3, name: 'md0' };
const gpt: DiskTable = { label: 'gpt', partitions: [{ ...member, type: 'a19d880f-05fc-4d3b-a006-743f0f84911e' }] };
const disks = [{ name: '/dev/vda' }, { name: '/dev/vdb' }];

test('made where they are missing, once', async () => {
  const machine = raidMachine([]);
  for (const { name } of disks) machine.tables.set(name, gpt);
  const made = await ensureBootPartitions(machine.run, disks, 'esp');
  expect(made).toEqual([
    { disk: '/dev/vda', number: 2, name: '/dev/vda2' },
    { disk: '/dev/vdb', number: 2, name: '/dev/vdb2' },
  ]);
  expect(machine.changes).toEqual([
    'sgdisk --new 0:1M:+550M --typecode 0:ef00 --change-name 0:uefi-holder-0 /dev/vda',
    'sgdisk --new 0:1M:+550M --typecode 0:ef00 --change-name 0:uefi-holder-1 /dev/vdb',
  ]);
  expect(await ensureBootPartitions(machine.run, disks, 'esp')).toEqual(made);
  expect(machine.changes).toHaveLength(2);
});

test('an MBR needs none for a BIOS, and has no place for an EFI system partition', async () => {
  const machine = raidMachine([]);
  for (const { name } of disks) machine.tables.set(name, { label: 'msdos', partitions: [{ ...member, type: 'fd' }] });
  expect(await ensureBootPartitions(machine.run, disks, 'bios')).toEqual([]);
  await expect(ensureBootPartitions(machine.run, disks, 'esp')).rejects.toThrow('/dev/vda has no GPT');
});

test('firmware knows a disk by itself, an array by the disks below it', () => {
  const array = testDevice({ name: '/dev/md0', type: 'raid1' });
  const below = disks.map(({ name }) => testDevice({ name, holders: ['/dev/md0'] }));
  const other = testDevice({ name: '/dev/vdc', holders: ['/dev/md1'] });
  expect(bootDisksOf(array, [array, ...below, other])).toEqual(below);
  expect(bootDisksOf(other, [array, ...below, other])).toEqual([other]);
});
