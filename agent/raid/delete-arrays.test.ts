import { expect, test } from 'vitest';
import { stopArraysOn } from '#agent/raid/delete-arrays.ts';
import { raidMachine } from '#agent/raid/testing/raid-machine.ts';
import type { MdArray } from '#agent/storage/mdadm.ts';

const array = (device: string, ...members: string[]): MdArray => ({
  device,
  active: true,
  level: 'raid1',
  members,
  size: members.length,
  working: members.length,
  uuid: null,
  name: null,
  metadata: '1.2',
});
const disks = (...names: string[]) => names.map((name) => ({ name }));

test('arrays on the disks stop and their members forget them; others run on', async () => {
  const machine = raidMachine([]);
  machine.arrays = [array('/dev/md0', '/dev/vda1', '/dev/vdb1'), array('/dev/md1', '/dev/vdc')];
  expect(await stopArraysOn(machine.run, disks('/dev/vda', '/dev/vdb'))).toEqual(['/dev/md0']);
  expect(machine.arrays.map(({ device }) => device)).toEqual(['/dev/md1']);
  expect(machine.changes).toEqual([
    'wipefs --all --force /dev/md0',
    'mdadm --stop /dev/md0',
    'mdadm --zero-superblock --force /dev/vda1',
    'mdadm --zero-superblock --force /dev/vdb1',
  ]);
});

test('an array that stands on others stops first, in whatever order they are listed', async () => {
  const busy = (line: string): boolean =>
    /^mdadm --stop \/dev\/md[01]$/.test(line) && machine.arrays.some(({ device }) => device === '/dev/md2');
  const machine = raidMachine([], busy);
  machine.arrays = [
    array('/dev/md0', '/dev/vda1'),
    array('/dev/md1', '/dev/vdb1'),
    array('/dev/md2', '/dev/md0', '/dev/md1'),
  ];
  expect(await stopArraysOn(machine.run, disks('/dev/vda', '/dev/vdb'))).toEqual(['/dev/md0', '/dev/md1', '/dev/md2']);
  expect(machine.arrays).toEqual([]);
});

test('an array with a member elsewhere is refused before anything stops', async () => {
  const machine = raidMachine([]);
  machine.arrays = [array('/dev/md0', '/dev/vda1'), array('/dev/md1', '/dev/vda2', '/dev/nvme0n1p1')];
  await expect(stopArraysOn(machine.run, disks('/dev/vda'))).rejects.toThrow(
    'the RAID array /dev/md1 has members on disks that are to be left alone: /dev/nvme0n1p1',
  );
  expect(machine.changes).toEqual([]);
});

test('an array in use is told', async () => {
  const machine = raidMachine([], (line) => line.startsWith('mdadm --stop'));
  machine.arrays = [array('/dev/md0', '/dev/vda1')];
  await expect(stopArraysOn(machine.run, disks('/dev/vda'))).rejects.toMatchObject({
    message: 'stop the RAID array /dev/md0 (/dev/vda1)',
    cause: expect.objectContaining({ code: 'command_failed' }),
  });
});
