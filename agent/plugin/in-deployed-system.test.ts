import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chooseEsp, lendResolver } from '#agent/plugin/in-deployed-system.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';

let root = '';
let resolver = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'baton-resolver-'));
  await mkdir(join(root, 'etc'));
  await mkdir(join(root, 'run'));
  resolver = join(root, 'servers');
  await writeFile(resolver, 'nameserver 10.0.0.1\n');
});
afterEach(() => rm(root, { recursive: true }));

const conf = () => join(root, 'etc/resolv.conf');

test.each(['../run/systemd/resolve/stub-resolv.conf', '/run/resolv.conf'])(
  'a link to %s leads to the servers',
  async (link) => {
    await symlink(link, conf());
    await lendResolver(root, resolver);
    expect(await readFile(join(root, link.replace('../', '')), 'utf8')).toBe('nameserver 10.0.0.1\n');
  },
);

test('a file of its own stays, a system without one gets none, and without servers there is nothing to lend', async () => {
  await lendResolver(root, resolver);
  expect(await readdir(join(root, 'etc'))).toEqual([]);
  await writeFile(conf(), 'nameserver 192.0.2.1\n');
  await lendResolver(root, resolver);
  expect(await readFile(conf(), 'utf8')).toBe('nameserver 192.0.2.1\n');
  await rm(conf());
  await symlink('/run/resolv.conf', conf());
  await lendResolver(root, join(root, 'nowhere'));
  expect(await readdir(join(root, 'run'))).toEqual([]);
});

const esp = (number: number, fsUuid: string) =>
  ({ name: `/dev/sda${number}`, fsUuid, fsLabel: `EFI${number}`, partLabel: `esp${number}` }) as ProbedPartition;
const esps = [esp(1, '1111-AAAA'), esp(3, '3333-CCCC')];

test.each([
  'UUID=3333-CCCC  /boot/efi  vfat  umask=0077 0 1',
  'UUID="3333-cccc" /boot/efi/ vfat defaults',
  'UUID=1111-AAAA /mnt/other vfat defaults\nUUID=3333-CCCC /efi vfat defaults',
  '# UUID=1111-AAAA /boot/efi vfat defaults\nLABEL=EFI3\t/boot/efi\tvfat\tdefaults',
  'PARTLABEL=esp3 /boot/efi vfat defaults',
  '/dev/disk/by-uuid/3333-CCCC /boot/efi vfat defaults',
])('of several EFI system partitions the one of %j is the system’s, in either order', (fstab) => {
  expect(chooseEsp(esps, fstab)).toBe('/dev/sda3');
  expect(chooseEsp(esps.toReversed(), fstab)).toBe('/dev/sda3');
});

test.each([
  ['', 'mounts none at /boot/efi'],
  ['UUID=1111-AAAA / ext4 defaults\n', 'mounts none at /boot/efi'],
  ['UUID=9999-9999 /boot/efi vfat defaults\n', 'mounts UUID=9999-9999, which is not one of them alone,'],
  ['/dev/sda1 /boot/efi vfat defaults\n', 'mounts /dev/sda1, which'],
  ['UUID=1111-AAAA /boot/efi vfat x\nUUID=3333-CCCC /efi vfat x\n', 'mounts UUID=1111-AAAA, UUID=3333-CCCC, which'],
])('none of several is taken where /etc/fstab has %j', (fstab, said) => {
  expect(() => chooseEsp(esps, fstab)).toThrow(said);
  expect(() => chooseEsp(esps, fstab)).toThrow('/dev/sda1 (UUID 1111-AAAA), /dev/sda3 (UUID 3333-CCCC)');
});

test('none of two of one label is taken', () => {
  const twins = esps.map((each) => ({ ...each, fsLabel: 'EFI' }));
  expect(() => chooseEsp(twins, 'LABEL=EFI /boot/efi vfat x\n')).toThrow('which is not one of them alone');
});
