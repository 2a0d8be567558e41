import { describe, expect, test } from 'vitest';
import { createArrays } from '#agent/raid/create-arrays.ts';
import { type RaidMachine, raidMachine } from '#agent/raid/testing/raid-machine.ts';
import { silentLog } from '#shared/log.ts';

const config = {
  logical_disks: [
    { size_gb: 4, raid_level: '1', controller: 'software', volume_name: 'root' },
    { size_gb: 'MAX', raid_level: '0', controller: 'software' },
  ],
} as const;
const target = { logical_disks: [...config.logical_disks] };

function create(machine: RaidMachine, deleteExisting = false) {
  const context = {
    run: machine.run,
    log: silentLog,
    node: { uuid: 'n', properties: {}, instance_info: {}, driver_internal_info: {} },
    reportProgress: () => undefined,
    writtenImage: { current: undefined },
  };
  return createArrays(context, target, { bootMode: 'uefi', deleteExisting });
}

test('partitions first, then the arrays, each with its name and level', async () => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb']);
  const arrays = await create(machine);
  expect(arrays.map(({ device, name, level }) => [device, name, level])).toEqual([
    ['/dev/md0', 'root', 'raid1'],
    ['/dev/md1', 'md1', 'raid0'],
  ]);
  expect(machine.changes.map((line) => line.split(' ').slice(0, 3).join(' '))).toEqual([
    'sfdisk --quiet --wipe=always',
    'sfdisk --quiet --wipe=always',
    'mdadm --create /dev/md0',
    'mdadm --create /dev/md1',
  ]);
});

test.each([true, false])('a set that is there is left alone (delete_existing %s)', async (deleteExisting) => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb']);
  const made = await create(machine);
  const before = machine.changes.length;
  expect(await create(machine, deleteExisting)).toEqual(made);
  expect(machine.changes).toHaveLength(before);
});

describe('what is in the way stays, and is named', () => {
  test('partitions of others', async () => {
    const machine = raidMachine(['/dev/vda', '/dev/vdb']);
    const linux = { number: 1, startBytes: 1024 ** 2, sizeBytes: 1024 ** 3, type: '83', name: null };
    machine.tables.set('/dev/vdb', { label: 'msdos', partitions: [linux] });
    for (const deleteExisting of [false, true]) {
      await expect(create(machine, deleteExisting)).rejects.toThrow(
        'there are partitions or arrays on /dev/vdb: run erase_devices_metadata first',
      );
    }
    expect(machine.changes).toEqual([]);
  });

  test('a degraded array of the same kind, unless it may be deleted', async () => {
    const machine = raidMachine(['/dev/vda', '/dev/vdb']);
    await create(machine);
    machine.arrays = machine.arrays.map((array) => ({ ...array, working: 1 }));
    await expect(create(machine)).rejects.toThrow('on /dev/vda, /dev/vdb: run erase_devices_metadata first');
  });
});

test('an array that can not be made is told with its members', async () => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb'], (line) => line.startsWith('mdadm --create /dev/md1'));
  await expect(create(machine)).rejects.toMatchObject({
    message: 'create RAID 0 "md1" of /dev/vda2, /dev/vdb2',
    cause: expect.objectContaining({ code: 'command_failed' }),
  });
});
