import { closeSync, mkdtempSync, openSync, readSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createArrays } from '#agent/raid/create-arrays.ts';
import { type RaidMachine, raidMachine } from '#agent/raid/testing/raid-machine.ts';
import { createLog, silentLog } from '#shared/log.ts';

const config = {
  logical_disks: [
    { size_gb: 4, raid_level: '1', controller: 'software', volume_name: 'root' },
    { size_gb: 'MAX', raid_level: '0', controller: 'software' },
  ],
} as const;
const target = { logical_disks: [...config.logical_disks] };

function create(
  machine: RaidMachine,
  deleteExisting = false,
  wanted: Parameters<typeof createArrays>[1] = target,
  { log = silentLog, properties = {} } = {},
) {
  const context = {
    run: machine.run,
    log,
    node: { uuid: 'n', properties, instance_info: {}, driver_internal_info: {} },
    reportProgress: () => undefined,
    writtenImage: { current: undefined },
  };
  return createArrays(context, wanted, { bootMode: 'uefi', deleteExisting });
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
        'there are partitions, file systems or arrays on /dev/vdb: run erase_devices_metadata first',
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

  test('a file system or volume group of a whole disk', async () => {
    const machine = raidMachine(['/dev/vda', '/dev/vdb']);
    machine.signatures.set('/dev/vdb', 'LVM2_member');
    for (const deleteExisting of [false, true]) {
      await expect(create(machine, deleteExisting)).rejects.toThrow('file systems or arrays on /dev/vdb:');
    }
    expect(machine.changes).toEqual([]);
  });

  test('something in the place of a member to be made', async () => {
    const machine = raidMachine(['/dev/vda', '/dev/vdb']);
    await create(machine);
    machine.arrays = machine.arrays.slice(0, 1);
    machine.signatures.set('/dev/vdb2', 'linux_raid_member');
    await expect(create(machine)).rejects.toThrow('file systems or arrays on /dev/vdb:');
  });
});

test('RAID is not deleted for a plan that then has no room', async () => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb', '/dev/vdc']);
  await create(machine);
  machine.arrays = machine.arrays.map((array) => ({ ...array, working: 1 }));
  const linux = { number: 1, startBytes: 1024 ** 2, sizeBytes: 1024 ** 3, type: '83', name: null };
  machine.tables.set('/dev/vdc', { label: 'msdos', partitions: [linux] });
  const before = machine.changes.length;
  await expect(create(machine, true)).rejects.toThrow('on /dev/vdc: run erase_devices_metadata first');
  expect(machine.changes).toHaveLength(before);
});

describe('a run that broke off is gone on with', () => {
  const commands = (machine: RaidMachine, from: number): readonly string[] =>
    machine.changes.slice(from).map((line) => line.replace(/ --(run|quiet) .*?(\/dev\/vd.)/, ' $2'));

  test.each([
    [
      'after the first table',
      'sfdisk',
      '/dev/vdb',
      ['sfdisk /dev/vdb', 'mdadm --create /dev/md0', 'mdadm --create /dev/md1'],
    ],
    ['before the first array', 'mdadm', '/dev/md0', ['mdadm --create /dev/md0', 'mdadm --create /dev/md1']],
    ['before the second array', 'mdadm', '/dev/md1', ['mdadm --create /dev/md1']],
  ])('%s', async (_when, command, device, rest) => {
    let broken = true;
    const machine = raidMachine(
      ['/dev/vda', '/dev/vdb'],
      (line) =>
        broken &&
        line.startsWith(command) &&
        line.includes(device) &&
        !line.includes('--json') &&
        !line.includes('--detail'),
    );
    await expect(create(machine)).rejects.toThrow(/failed|create RAID/);
    broken = false;
    const before = machine.changes.length;
    await create(machine);
    expect(commands(machine, before).map((line) => rest.find((each) => line.startsWith(each)) ?? line)).toEqual(rest);
  });
});

describe('with delete_existing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-raid-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Disks that are files, since their ends are zeroed. */
  function fileDisks(...names: string[]): readonly string[] {
    return names.map((name) => {
      writeFileSync(join(folder, name), 'boot code');
      truncateSync(join(folder, name), 10 * 1024 ** 3);
      return `/dev/..${join(folder, name)}`;
    });
  }

  function firstByte(file: string): number {
    const handle = openSync(file, 'r');
    const byte = Buffer.alloc(1);
    readSync(handle, byte);
    closeSync(handle);
    return byte[0] ?? 0;
  }

  test('RAID on the disks of the plan goes, and no other', async () => {
    const [a, b, c] = fileDisks('a', 'b', 'c') as [string, string, string];
    const machine = raidMachine([a, b, c]);
    const other = { ...target, logical_disks: target.logical_disks.map((each) => ({ ...each, size_gb: 1 as const })) };
    const on = (...names: string[]) => ({ physical_disks: names.map((name) => ({ name })) });
    const onTwo = (config: typeof other | typeof target) => ({
      logical_disks: config.logical_disks.map((each) => ({ ...each, ...on(a, b) })),
    });
    await create(machine, false, onTwo(other));
    machine.tables.set(c, { label: 'gpt', partitions: machine.tables.get(a)?.partitions ?? [] });
    const stranger = { device: '/dev/md9', members: [`${c}1`], level: 'raid1', size: 1, working: 1 };
    machine.arrays.push({ ...stranger, active: true, uuid: null, name: 'stranger', metadata: '1.2' });
    const made = await create(machine, true, onTwo(target));
    expect(made.map(({ name }) => name)).toEqual(['root', 'md1']);
    expect(machine.arrays.map(({ name }) => name)).toEqual(['stranger', 'root', 'md1']);
    expect(machine.changes.filter((line) => line.includes('md9') || line.includes(c))).toEqual([]);
    expect([a, b, c].map(firstByte)).toEqual([0, 0, 'b'.charCodeAt(0)]);
  });
});

test('an array that can not be made is told with its members', async () => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb'], (line) => line.startsWith('mdadm --create /dev/md1'));
  await expect(create(machine)).rejects.toMatchObject({
    message: 'create RAID 0 "md1" of /dev/vda2, /dev/vdb2',
    cause: expect.objectContaining({ code: 'command_failed' }),
  });
});

test('an entry of the skip list that names nothing is told once, also where arrays are deleted first', async () => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb']);
  await create(machine);
  machine.arrays = machine.arrays.map((array) => ({ ...array, working: 1 }));
  const changes = machine.changes.length;
  const reported: { readonly line: string; readonly after: number }[] = [];
  const write = (line: string) => void reported.push({ line, after: machine.changes.length });
  const log = createLog({ component: 'test', level: 'warn', only: { write } });
  const properties = { skip_block_devices: [{ name: '/dev/vdq' }] };
  // the disks of this machine can't be opened
  await create(machine, true, target, { log, properties }).catch(() => undefined);
  expect(machine.changes.length).toBeGreaterThan(changes);
  expect(reported).toEqual([{ line: expect.stringContaining('names no disk of this machine'), after: changes }]);
});

test('the arrays are there before the disks are listed: the skip list may name one', async () => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb']);
  const lines: string[] = [];
  const run: RaidMachine['run'] = (...call) => {
    lines.push([call[0], ...call[1]].join(' '));
    return machine.run(...call);
  };
  await create({ ...machine, run });
  const first = (start: string) => lines.findIndex((line) => line.startsWith(start));
  expect(first('mdadm --assemble')).toBeGreaterThan(-1);
  expect(first('mdadm --assemble')).toBeLessThan(first('lsblk'));
});
