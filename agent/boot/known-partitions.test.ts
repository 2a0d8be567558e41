import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readKnownPartitions } from '#agent/boot/known-partitions.ts';
import { putFiles } from '#agent/boot/testing/esp-tree.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

const id = '5C1E0001-0A1B-4C2D-8E3F-000000000001';
const folder = await mkdtemp(join(tmpdir(), 'baton-known-'));
beforeAll(async () => {
  const table = Buffer.alloc(8192);
  table.write('EFI PART', 512);
  await putFiles(folder, {
    disk: table,
    blank: Buffer.alloc(8192),
    apple: Buffer.concat([Buffer.alloc(512), Buffer.from('PM\0\0'), Buffer.alloc(7676)]),
    'sys/bus/pci/devices/0000:00:1f.2/class': '0x010601\n',
    'sys/bus/pci/devices/0000:00:1f.2/driver/bind': '',
    'sys/bus/pci/devices/0000:00:03.0/class': '0x020000\n',
    'odd/bus/pci/devices/0000:03:00.0/class': '0x010400\n',
  });
  await symlink(join(folder, 'none'), join(folder, 'dangling'));
});
afterAll(() => rm(folder, { recursive: true }));

/** @param blkid what it says of a device; `undefined` = it fails */
function machine(disks: readonly object[], blkid: (device: string) => string | undefined): Run {
  return (command, args) => {
    if (command === 'lsblk') return Promise.resolve(ranWell(JSON.stringify({ blockdevices: disks })));
    const said = command === 'blkid' ? blkid(args.at(-1) ?? '') : '';
    return said === undefined
      ? Promise.reject(new AppError('command_failed', 'blkid exited with 4'))
      : Promise.resolve(ranWell(said));
  };
}

const disk = (name: string, more: object = {}) => ({
  name,
  path: join(folder, name),
  type: 'disk',
  size: 8192,
  ...more,
});
const partition = { name: 'disk1', path: '/dev/disk1', type: 'part', size: 4096 };
const read = (run: Run, sys = 'sys') => readKnownPartitions(run, silentLog, join(folder, sys));

test('partitions of every disk; blank disks and drives without a medium leave no doubt', async () => {
  const disks = [
    disk('disk', { children: [partition] }),
    disk('blank'),
    disk('empty', { size: 0, rm: true }),
    { name: 'sr0', path: '/dev/sr0', type: 'rom', size: 0 },
  ];
  const known = await read(machine(disks, (name) => (name === '/dev/disk1' ? `PART_ENTRY_UUID=${id}\n` : '')));
  expect([...known.ids]).toEqual([['/dev/disk1', id.toLowerCase()]]);
  expect(known.doubts).toEqual([]);
});

test.each([
  ['shows no capacity', [disk('gone', { size: 0 })], ''],
  ["can't be read", [disk('dangling')], ''],
  ['has a partition table without partitions', [disk('disk')], ''],
  ['may have a partition table of a kind that is not read here', [disk('apple')], ''],
  ['is a isw_raid_member', [disk('blank')], 'TYPE=isw_raid_member\n'],
  ['shows no identifier', [disk('disk', { children: [partition] })], undefined],
])('a disk that %s leaves a doubt', async (doubt, disks, blkid) => {
  expect((await read(machine(disks, () => blkid))).doubts).toEqual([expect.stringContaining(doubt)]);
});

test('so does a storage controller without a driver', async () => {
  const { doubts } = await read(
    machine([], () => ''),
    'odd',
  );
  expect(doubts).toEqual(['the storage controller 0000:03:00.0 has no driver']);
});
