import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deleteArrays, stopArraysOn } from '#agent/raid/delete-arrays.ts';
import { raidMachine } from '#agent/raid/testing/raid-machine.ts';
import type { MdArray } from '#agent/storage/mdadm.ts';
import { createLog, silentLog } from '#shared/log.ts';

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
  expect(await stopArraysOn(machine.run, disks('/dev/vda', '/dev/vdb'), silentLog)).toEqual(['/dev/md0']);
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
  expect(await stopArraysOn(machine.run, disks('/dev/vda', '/dev/vdb'), silentLog)).toEqual([
    '/dev/md0',
    '/dev/md1',
    '/dev/md2',
  ]);
  expect(machine.arrays).toEqual([]);
});

test('an array with a member elsewhere is refused before anything stops', async () => {
  const machine = raidMachine([]);
  machine.arrays = [array('/dev/md0', '/dev/vda1'), array('/dev/md1', '/dev/vda2', '/dev/nvme0n1p1')];
  await expect(stopArraysOn(machine.run, disks('/dev/vda'), silentLog)).rejects.toThrow(
    'the RAID array /dev/md1 has members on disks that must not be touched: /dev/nvme0n1p1',
  );
  expect(machine.changes).toEqual([]);
});

test('an array in use is told', async () => {
  const machine = raidMachine([], (line) => line.startsWith('mdadm --stop'));
  machine.arrays = [array('/dev/md0', '/dev/vda1')];
  await expect(stopArraysOn(machine.run, disks('/dev/vda'), silentLog)).rejects.toMatchObject({
    message: 'stop the RAID array /dev/md0 (/dev/vda1)',
    cause: expect.objectContaining({ code: 'command_failed' }),
  });
});

test('an array that answers with errors goes all the same', async () => {
  const machine = raidMachine([], (line) => line.startsWith('wipefs'));
  machine.arrays = [array('/dev/md0', '/dev/vda1')];
  expect(await stopArraysOn(machine.run, disks('/dev/vda'), silentLog)).toEqual(['/dev/md0']);
  expect(machine.arrays).toEqual([]);
});

test('RAID is removed from all disks, and only disks of RAID are wiped', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-raid-'));
  const names = ['a', 'b', 'c'].map((name) => `/dev/..${join(folder, name)}`) as [string, string, string];
  for (const name of names) {
    await writeFile(name, 'boot code');
    await truncate(name, 10 * 1024 ** 3);
  }
  const machine = raidMachine(names);
  const [member, whole, other] = names;
  const partition = { number: 1, startBytes: 1024 ** 2, sizeBytes: 1024 ** 3, type: 'fd', name: null };
  machine.tables.set(member, { label: 'msdos', partitions: [partition] });
  machine.tables.set(other, { label: 'msdos', partitions: [{ ...partition, type: '83' }] });
  machine.arrays = [array('/dev/md0', ...[`${member}1`, whole].toSorted())];
  const writtenImage = { current: undefined };
  const node = { uuid: 'n', properties: {}, instance_info: {}, driver_internal_info: {} };
  const context = { run: machine.run, log: silentLog, node, reportProgress: () => undefined, writtenImage };
  expect(await deleteArrays(context)).toEqual({ arrays: ['/dev/md0'], disks: [member, whole] });
  expect([...machine.tables.keys()]).toEqual([other]);
  const heads = await Promise.all(
    names.map(async (name) => {
      const handle = await open(name);
      const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
      await handle.close();
      return buffer.toString();
    }),
  );
  expect(heads).toEqual(['\0\0\0\0', '\0\0\0\0', 'boot']);
  await rm(folder, { recursive: true });
});

test('an entry of the skip list that names nothing is told once, before anything changes', async () => {
  const machine = raidMachine([]);
  machine.arrays = [array('/dev/md0')];
  const reported: string[] = [];
  const log = createLog({ component: 'test', only: { write: (line) => void reported.push(line) } });
  const properties = { skip_block_devices: [{ name: '/dev/sdq' }, { name: '/dev/md0' }] };
  const node = { uuid: 'n', properties, instance_info: {}, driver_internal_info: {} };
  const context = {
    run: machine.run,
    log,
    node,
    reportProgress: () => undefined,
    writtenImage: { current: undefined },
  };
  await deleteArrays(context);
  expect(reported).toEqual([expect.stringContaining('{\\"name\\":\\"/dev/sdq\\"} names no disk of this machine')]);
  expect(machine.changes).toEqual([]);
  // for a caller that has told it
  await deleteArrays(context, () => true);
  expect(reported).toHaveLength(1);
});
