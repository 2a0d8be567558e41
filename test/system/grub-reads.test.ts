import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requireGrubReadable } from '#agent/boot/require-grub-readable.ts';
import { findRootSubvolume } from '#agent/inject/root-subvolume.ts';
import { loadKernel } from '#agent/kexec/load-system.ts';
import { proveKernel } from '#agent/kexec/prove-kernel.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { type Run, run } from '#shared/process/run.ts';
import { type BtrfsOptions, makeBtrfs } from '#test/support/btrfs-subvolume.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';
import { noise } from '#test/support/noise.ts';

/** Root file systems on loop devices, and the GRUB of Debian that the ramdisk has; needs root, grub-fstest, mkfs.xfs, btrfs. */

const mib = 1024 * 1024;
let folder = '';
const files = {
  'etc/os-release': 'ID=test\n',
  'boot/grub/grub.cfg': 'set timeout=1\n',
  'boot/vmlinuz-6.1': noise('kernel', 3 * mib),
  'boot/initrd.img-6.1': noise('initrd', mib),
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-grub-reads-'));
  for (const name of ['boot/grub', 'etc']) await mkdir(join(folder, 'tree', name), { recursive: true });
  for (const [path, content] of Object.entries(files)) await writeFile(join(folder, 'tree', path), content);
});
afterAll(() => rm(folder, { recursive: true }));

/** @returns `boots`, or why not */
function judge(fsType: string, makeFileSystem: (device: string) => Promise<unknown>, mibytes: number): Promise<string> {
  return withLoopDevice(join(folder, 'disk'), mibytes * mib, async (name) => {
    await makeFileSystem(name);
    return findRootSubvolume(run, { name, fsType })
      .then((subvolume) => requireGrubReadable(run, { name, fsType, subvolume }))
      .then(() => 'boots', errorChain);
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

describe('btrfs', () => {
  const inSubvolumes = (options: BtrfsOptions) =>
    judge('btrfs', (device) => makeBtrfs(device, join(folder, 'tree'), options), 160);

  test('without subvolumes is read', async () => {
    const whole = (device: string) => run('mkfs.btrfs', ['-q', '-f', '--rootdir', join(folder, 'tree'), device]);
    expect(await judge('btrfs', whole, 128)).toBe('boots');
  });

  test.each<[string, BtrfsOptions]>([
    ['the default, as of openSUSE', {}],
    ['@rootfs, as of Debian', { subvolumes: ['@rootfs'], byDefault: null }],
    ['@, as of Ubuntu, beside an older one', { subvolumes: ['@', '@old'], byDefault: null }],
    ['in a folder', { subvolumes: ['systems/one'], byDefault: null }],
  ])('is read inside its root: %s', async (_what, options) => {
    expect(await inSubvolumes(options)).toBe('boots');
  });

  test('is refused where several subvolumes may be the root', async () => {
    expect(await inSubvolumes({ subvolumes: ['one', 'two'], byDefault: null })).toMatch(
      /which subvolume of the btrfs on \/dev\/loop\d+ is the root is not known: one, two hold Linux systems/,
    );
  });
});

test("a whole-disk image's configuration is read by GRUB itself; that it is not is no refusal", async () => {
  const prove = (features: string) =>
    withLoopDevice(join(folder, 'disk'), 64 * mib, async (name) => {
      await run('mkfs.ext4', ['-q', '-F', '-O', features, '-d', join(folder, 'tree'), name]);
      const partition = { name, number: 1, sizeBytes: 64 * mib, fsLabel: null, partLabel: null, partType: null };
      const partitions = [{ ...partition, fsType: 'ext4', fsUuid: 'u' }];
      return proveKernel(run, { partitions, loader: 'GRUB', configured: { by: 'Baton', root: name } }).catch(
        errorChain,
      );
    });
  await writeFile(join(folder, 'tree/boot/grub/grub.cfg'), 'menuentry a {\nlinux /boot/vmlinuz-6.1\n}\n');
  expect(await prove('')).toEqual([]);
  expect(await prove('inline_data')).toEqual([
    expect.stringMatching(
      /not proved that .*: the ramdisk's GRUB can't read \/boot\/grub\/grub.cfg on \/dev\/loop\d+ \(ext4\)/,
    ),
  ]);
  await writeFile(join(folder, 'tree/boot/grub/grub.cfg'), 'menuentry a {\nlinux /boot/vmlinuz-6.2\n}\n');
  expect(await prove('')).toMatch(
    /^the image does not boot: GRUB would start "a": the image has no file \/boot\/vmlinuz-6\.2$/,
  );
  await writeFile(join(folder, 'tree/boot/grub/grub.cfg'), files['boot/grub/grub.cfg']);
});

describe("a whole-disk image's configuration on btrfs", () => {
  const uuid = 'b2a70000-0000-4000-8000-0000000000e1';
  const withSystem = (
    configuration: string,
    options: BtrfsOptions | 'no subvolumes',
    use: (partition: ProbedPartition) => Promise<unknown>,
  ): Promise<unknown> =>
    withLoopDevice(join(folder, 'disk'), 160 * mib, async (name) => {
      const file = join(folder, 'tree/boot/grub/grub.cfg');
      await writeFile(file, configuration);
      if (options !== 'no subvolumes') await makeBtrfs(name, join(folder, 'tree'), { uuid, ...options });
      else await run('mkfs.btrfs', ['-q', '-f', '-U', uuid, '--rootdir', join(folder, 'tree'), name]);
      await writeFile(file, files['boot/grub/grub.cfg']);
      const partition = { name, number: 1, sizeBytes: 160 * mib, fsLabel: null, partLabel: null, partType: null };
      return use({ ...partition, fsType: 'btrfs', fsUuid: uuid });
    });
  const prove = (partition: ProbedPartition) =>
    proveKernel(run, {
      partitions: [partition],
      loader: 'GRUB',
      configured: { by: 'Baton', root: partition.name },
    }).catch(errorChain);
  const entry = (kernel: string) =>
    `search --no-floppy --fs-uuid --set=root ${uuid}\nmenuentry a {\nlinux ${kernel} root=UUID=${uuid} rootflags=subvol=@rootfs\n}\n`;
  const debian = { subvolumes: ['@rootfs'], byDefault: null };
  /** Ubuntu's, with an older copy beside, which is not started. */
  const snapshot = { subvolumes: ['@', 'snapshots/@'], byDefault: null };

  test.each<[string, string, BtrfsOptions | 'no subvolumes']>([
    ['in @rootfs, as of Debian', '/@rootfs/boot/vmlinuz-6.1', debian],
    ['in @, beside a copy', '/@/boot/vmlinuz-6.1', snapshot],
    ['at the top', '/boot/vmlinuz-6.1', 'no subvolumes'],
    ['in the default subvolume, from the top', '/@/boot/vmlinuz-6.1', {}],
  ])('is read, and leads to its kernel: %s', async (_what, kernel, options) => {
    const withoutWords = entry(kernel).replace(' rootflags=subvol=@rootfs', '');
    expect(await withSystem(options === debian ? entry(kernel) : withoutWords, options, prove)).toEqual([]);
  });

  test('is refused where the kernel is missing', async () => {
    expect(await withSystem(entry('/@rootfs/boot/vmlinuz-6.2'), debian, prove)).toMatch(
      /^the image does not boot: GRUB would start "a": the image has no file \/@rootfs\/boot\/vmlinuz-6\.2$/,
    );
  });

  test.each<[string, string, BtrfsOptions, string]>([
    ['a path from the top, or from the default subvolume', entry('/boot/vmlinuz-6.1'), {}, 'default subvolume @'],
    ['two systems', entry('/one/boot/vmlinuz-6.1'), { subvolumes: ['one', 'two'], byDefault: null }, 'one, two hold'],
  ])('is not known, and said: %s', async (_what, configuration, options, reason) => {
    const text = configuration.replace(' rootflags=subvol=@rootfs', '');
    expect(await withSystem(text, options, prove)).toEqual([expect.stringContaining(reason)]);
  });

  test('gives kexec its kernel and command line', async () => {
    const loads: (readonly [string, Buffer])[] = [];
    const machine: Run = async (command, args, options) => {
      if (command !== 'kexec') return run(command, args, options);
      loads.push([String(args.at(-1)), await readFile(args[2] ?? '')]);
      return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
    };
    await withSystem(entry('/@rootfs/boot/vmlinuz-6.1'), debian, (partition) => loadKernel(machine, [partition]));
    const [[commandLine, kernel] = []] = loads;
    expect(commandLine).toBe(`--command-line=root=UUID=${uuid} rootflags=subvol=@rootfs panic=30`);
    expect(kernel?.equals(files['boot/vmlinuz-6.1'])).toBe(true);
  });
});

test('XFS is read', async () => {
  const prototype = join(folder, 'prototype');
  const lines = ['/dev/null', '0 0', 'd--755 0 0', 'boot d--755 0 0', 'grub d--755 0 0'];
  const entry = (path: string) => `${path.split('/').at(-1)} ---644 0 0 ${join(folder, 'tree', path)}`;
  const rest = [entry('boot/grub/grub.cfg'), '$', entry('boot/vmlinuz-6.1'), entry('boot/initrd.img-6.1'), '$', '$'];
  await writeFile(prototype, [...lines, ...rest, ''].join('\n'));
  expect(await judge('xfs', (device) => run('mkfs.xfs', ['-q', '-f', '-p', prototype, device]), 320)).toBe('boots');
});
