import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { seekFileSystem } from '#agent/boot/seek-file-system.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import type { Run } from '#shared/process/run.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-seek-'));
  for (const name of ['sda', 'sdb']) await writeFile(join(folder, name), Buffer.alloc(8192));
  await mkdir(join(folder, 'sys'));
});
afterEach(() => rm(folder, { recursive: true }));

const wanted = '11111111-0000-4000-8000-00000000000A';
const bios = '21686148-6449-6e6f-744e-656564454649';

/** Two disks; the first has two partitions. By name what blkid says. */
async function seek(contents: Readonly<Record<string, string>>, isReadable = true): Promise<boolean | undefined> {
  const node = (name: string, type: string, children?: readonly object[]) => ({
    name,
    path: join(folder, isReadable ? name : `no/${name}`),
    type,
    size: 1_000_000,
    ...(children ? { children } : {}),
  });
  const disks = [node('sda', 'disk', [node('sda1', 'part'), node('sda2', 'part')]), node('sdb', 'disk')];
  const machine: Run = async (command, args) => {
    if (command === 'lsblk') return ranWell(JSON.stringify({ blockdevices: disks }));
    return ranWell(command === 'blkid' ? (contents[basename(args.at(-1) ?? '')] ?? '') : '');
  };
  return seekFileSystem(machine, wanted, join(folder, 'sys'));
}

const plain = { sda1: 'TYPE=vfat\nUUID=AB-CD\n', sda2: 'TYPE=ext4\nUUID=2\n' };

test('no disk has it', async () => {
  expect(await seek(plain)).toBe(false);
  expect(await seek({ ...plain, sda1: `PART_ENTRY_TYPE=${bios}\n` })).toBe(false);
});

test.each(['sda2', 'sdb'])('%s has it, in any case of letters', async (name) => {
  expect(await seek({ ...plain, [name]: `TYPE=ext4\nUUID=${wanted.toLowerCase()}\n` })).toBe(true);
});

test.each<[string, Readonly<Record<string, string>>]>([
  ['a volume that may hold file systems', { ...plain, sdb: 'TYPE=LVM2_member\nUUID=x\n' }],
  ['one that is locked', { ...plain, sda2: 'TYPE=crypto_LUKS\nUUID=x\n' }],
  ['a member of an array', { ...plain, sdb: 'TYPE=linux_raid_member\nUUID=x\n' }],
  ['a partition of which nothing is known', { sda1: plain.sda1 }],
])('it is not known: %s', async (_what, contents) => {
  expect(await seek(contents)).toBeUndefined();
});

test('it is not known where a disk can not be read, or a controller has no driver', async () => {
  expect(await seek(plain, false)).toBeUndefined();
  const device = join(folder, 'sys/bus/pci/devices/0000:00:05.0');
  await mkdir(device, { recursive: true });
  await writeFile(join(device, 'class'), '0x010601\n');
  expect(await seek(plain)).toBeUndefined();
});

test('it is not known where no disk is seen', async () => {
  expect(await seekFileSystem(() => Promise.resolve(ranWell('')), wanted, join(folder, 'sys'))).toBeUndefined();
});
