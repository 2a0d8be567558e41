import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requireGrubReadable } from '#agent/boot/require-grub-readable.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';
import { makeBtrfs } from '#test/support/btrfs-subvolume.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';
import { noise } from '#test/support/noise.ts';

/** Root file systems on loop devices, and the GRUB of Debian that the ramdisk has; needs root, grub-fstest, mkfs.xfs, btrfs. */

const mib = 1024 * 1024;
let folder = '';
const files = {
  'boot/grub/grub.cfg': 'set timeout=1\n',
  'boot/vmlinuz-6.1': noise('kernel', 3 * mib),
  'boot/initrd.img-6.1': noise('initrd', mib),
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-grub-reads-'));
  await mkdir(join(folder, 'tree/boot/grub'), { recursive: true });
  for (const [path, content] of Object.entries(files)) await writeFile(join(folder, 'tree', path), content);
});
afterAll(() => rm(folder, { recursive: true }));

/** @returns `boots`, or why not */
function judge(fsType: string, makeFileSystem: (device: string) => Promise<unknown>, mibytes: number): Promise<string> {
  return withLoopDevice(join(folder, 'disk'), mibytes * mib, async (name) => {
    await makeFileSystem(name);
    return requireGrubReadable(run, { name, fsType }).then(() => 'boots', errorChain);
  });
}

const ext4 = (features: string) =>
  judge('ext4', (device) => run('mkfs.ext4', ['-q', '-F', '-O', features, '-d', join(folder, 'tree'), device]), 64);

test.each(['none', 'metadata_csum_seed', 'orphan_file', 'large_dir', 'encrypt', 'verity', '^has_journal'])(
  'ext4 with %s is read',
  async (features) => {
    expect(await ext4(features === 'none' ? '' : features)).toBe('boots');
  },
);

// not casefold: kernels without it mount none of these in the first place
test.each(['inline_data', 'ea_inode', 'bigalloc'])('ext4 with %s is refused by its name', async (feature) => {
  const reason = await ext4(feature);
  expect(reason).toMatch(/^GRUB can't read \/boot\/grub\/grub.cfg on \/dev\/loop\d+, so the machine would not boot: /);
  expect(reason).toContain(`GRUB does not know ${feature}: make the image without`);
});

test('btrfs is read, of a system in its default subvolume too', async () => {
  const tree = join(folder, 'tree');
  const whole = (device: string) => run('mkfs.btrfs', ['-q', '-f', '--rootdir', tree, device]);
  expect(await judge('btrfs', whole, 128)).toBe('boots');
  expect(await judge('btrfs', (device) => makeBtrfs(device, tree), 128)).toBe('boots');
});

test('XFS is read', async () => {
  const prototype = join(folder, 'prototype');
  const lines = ['/dev/null', '0 0', 'd--755 0 0', 'boot d--755 0 0', 'grub d--755 0 0'];
  const entry = (path: string) => `${path.split('/').at(-1)} ---644 0 0 ${join(folder, 'tree', path)}`;
  const rest = [entry('boot/grub/grub.cfg'), '$', entry('boot/vmlinuz-6.1'), entry('boot/initrd.img-6.1'), '$', '$'];
  await writeFile(prototype, [...lines, ...rest, ''].join('\n'));
  expect(await judge('xfs', (device) => run('mkfs.xfs', ['-q', '-f', '-p', prototype, device]), 320)).toBe('boots');
});
