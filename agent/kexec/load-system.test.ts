import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { completeCommandLine } from '#agent/kexec/load-system.ts';
import { debian, debianUuid, rhel, rhelEntries, rhelUuid } from '#agent/kexec/testing/grub-configurations.ts';
import { type Loaded, loadFrom, partition, putFile } from '#agent/kexec/testing/probed-disk.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';

let disk = '';
beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'baton-disk-'));
});
afterEach(() => rm(disk, { recursive: true }));

const root = partition(2, debianUuid);

const put = (device: ProbedPartition, path: string, content: string): Promise<void> =>
  putFile(disk, device, path, content);
const load = (...partitions: readonly ProbedPartition[]): Promise<Loaded> => loadFrom(disk, partitions);

async function putDebian(): Promise<void> {
  await put(root, 'boot/grub/grub.cfg', debian);
  await put(root, 'boot/vmlinuz-6.1.0-18-amd64', 'the kernel');
  await put(root, 'boot/initrd.img-6.1.0-18-amd64', 'initrd');
}

test('Debian: kernel, initrd and command line of its boot loader', async () => {
  await putDebian();
  await put(partition(1, 'AB-CD', 'vfat'), 'EFI/debian/grub.cfg', `configfile (UUID=${debianUuid})/boot/grub/grub.cfg`);
  expect(await load(partition(1, 'AB-CD', 'vfat'), root, partition(3, 'x', 'swap'))).toEqual({
    args: ['-s', '-l', 'kernel', '--initrd=initrd', `--command-line=root=UUID=${debianUuid} ro quiet panic=30`],
    kernel: 'the kernel',
    initrd: 'initrd\0\0',
  });
});

test('RHEL: a file system for /boot, with entries of its own; several initrds become one', async () => {
  const boot = partition(3, rhelUuid);
  const newest = '5.14.0-362.el9.x86_64';
  await put(boot, 'grub2/grub.cfg', rhel);
  await put(boot, 'grub2/grubenv', '# GRUB Environment Block\ntuned_initrd=/tuned.img\n####');
  for (const [name, text] of rhelEntries) await put(boot, `loader/entries/${name}`, text);
  await put(boot, `vmlinuz-${newest}`, 'kern');
  await put(boot, `initramfs-${newest}.img`, 'first');
  await put(boot, 'tuned.img', 'next');
  await put(root, 'etc/os-release', '');
  expect(await load(root, boot)).toMatchObject({ kernel: 'kern', initrd: 'first\0\0\0next' });
});

test('links are followed inside of the image, as the system has them', async () => {
  await put(root, 'boot/grub/grub.cfg', 'menuentry a {\nlinux /vmlinuz root=LABEL=os\n}');
  await put(root, 'usr/lib/kernel', 'kern');
  await symlink('/usr/lib/kernel', join(disk, 'vda2/vmlinuz'));
  const named = partition(2, debianUuid, 'ext4', 'os');
  expect(await load(named)).toMatchObject({ kernel: 'kern', initrd: '' });
});

test('a model that is known not to come up whole is refused', async () => {
  await putDebian();
  const model = async (maker: string, product: string): Promise<void> => {
    await mkdir(join(disk, 'sys/class/dmi/id'), { recursive: true });
    await writeFile(join(disk, 'sys/class/dmi/id/sys_vendor'), `${maker}\n`);
    await writeFile(join(disk, 'sys/class/dmi/id/product_name'), `${product}\n`);
  };
  await model('HP', 'HP EliteDesk 800 G6');
  await expect(load(root)).rejects.toThrow('HP HP EliteDesk 800 G6 does not come up whole by kexec: its PCI bridges');
  await model('Dell Inc.', 'EliteDesk');
  expect(await load(root)).toMatchObject({ kernel: 'the kernel' });
});

describe('a hostile image', () => {
  test('reaches no file of the ramdisk', async () => {
    await put(root, 'boot/grub/grub.cfg', 'menuentry a {\nlinux /etc/passwd\n}');
    await symlink('/', join(disk, 'vda2/etc'));
    await expect(load(root)).rejects.toThrow('the image has no file /etc/passwd');
    await put(root, 'boot/grub/grub.cfg', 'menuentry a {\nlinux /../../../../etc/passwd\n}');
    await expect(load(root)).rejects.toThrow('leads out of its file system');
    await put(root, 'boot/grub/grub.cfg', 'menuentry a {\nlinux /turn\n}');
    await symlink('turn', join(disk, 'vda2/turn'));
    await expect(load(root)).rejects.toThrow('links that lead in a circle');
  });

  test('fills no memory, and keeps nothing waiting', async () => {
    await putDebian();
    await truncate(join(disk, 'vda2/boot/vmlinuz-6.1.0-18-amd64'), 129 * 1024 * 1024);
    await expect(load(root)).rejects.toThrow('larger than 134217728 bytes');
    await put(root, 'boot/grub/grub.cfg', ' '.repeat(1024 * 1024 + 1));
    await expect(load(root)).rejects.toThrow('boot/grub/grub.cfg of the image is larger than 1048576 bytes');
    await rm(join(disk, 'vda2/boot/grub/grub.cfg'));
    await mkdir(join(disk, 'vda2/boot/grub/grub.cfg'));
    await expect(load(root)).rejects.toThrow('is not a file');
  });
});

describe('refused', () => {
  test('without a configuration that is read, and with several', async () => {
    await put(root, 'etc/os-release', '');
    await expect(load(root)).rejects.toThrow('there is no grub.cfg in');
    await putDebian();
    await put(root, 'boot/grub2/grub.cfg', debian);
    await expect(load(root)).rejects.toThrow('there are several grub.cfg, on /dev/vda2, /dev/vda2');
  });

  test('for partitions that the disk does not have, or has twice', async () => {
    await putDebian();
    const other = partition(3, debianUuid, 'swap');
    await expect(load(root, other)).rejects.toThrow(`UUID=${debianUuid} is more than one partition`);
    await put(root, 'boot/grub/grub.cfg', 'menuentry a {\nlinux (hd1,gpt2)/k\n}');
    await expect(load(root)).rejects.toThrow('hd1,gpt2 is not a partition of the written disk');
  });

  test('for a root file system that the disk does not have; a panic restarts unless the image says otherwise', () => {
    expect(() => completeCommandLine('ro root=UUID=other', [root])).toThrow('its root=UUID=other is not a file system');
    expect(() => completeCommandLine('a\nb', [root])).toThrow('its command line has control characters');
    expect(completeCommandLine('root=/dev/mapper/a', [root])).toBe('root=/dev/mapper/a panic=30');
    expect(completeCommandLine('panic=0 ro', [root])).toBe('panic=0 ro');
  });
});
