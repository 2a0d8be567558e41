import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findRootFileSystem, withDeployedSystem } from '#agent/boot/deployed-system.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Mounts are plain folders here, emptied when they are unmounted. */
function machine() {
  const seen: string[] = [];
  let root = '';
  const run: Run = async (command, args) => {
    const folder = args.at(-1) ?? '';
    if (seen.length === 0) root = folder;
    seen.push([command, ...args].join(' ').replaceAll(root, 'ROOT'));
    if (command === 'umount') {
      for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    } else if (command !== 'mount' && command !== 'cp') {
      throw new AppError('command_failed', `${command} is not there`);
    }
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
  };
  return { run, seen };
}

const partition = (name: string, fsType: string | null, fsUuid: string | null): ProbedPartition => ({
  name,
  number: 1,
  sizeBytes: 1,
  fsType,
  fsUuid,
  fsLabel: null,
  partLabel: null,
  partType: null,
});
const esp = partition('/dev/md0p1', 'vfat', '5C0E-9E39');
const root = partition('/dev/md0p3', 'ext4', 'b2a70000-0000-4000-8000-000000000004');

describe('the root file system', () => {
  test('by its UUID, in whatever case', async () => {
    const { run, seen } = machine();
    expect(await findRootFileSystem(run, [esp, root], root.fsUuid?.toUpperCase())).toBe(root);
    expect(seen).toEqual([]);
  });

  test('a UUID that no partition has', async () => {
    await expect(findRootFileSystem(machine().run, [esp, root], 'x')).rejects.toThrow(
      'no file system has the UUID x; found: /dev/md0p1 (vfat 5C0E-9E39), /dev/md0p3 (ext4 b2a70000',
    );
  });

  test('a UUID that two partitions have names neither', async () => {
    const copy = { ...root, name: '/dev/md0p4' };
    const found = findRootFileSystem(machine().run, [esp, root, copy], root.fsUuid ?? '');
    await expect(found).rejects.toThrow('/dev/md0p3 and /dev/md0p4 have one UUID');
    // one btrfs over two partitions shows its UUID on both
    const [first, second] = [root, copy].map((each) => ({ ...each, fsType: 'btrfs' }));
    if (!first || !second) throw new Error('no partitions');
    expect(await findRootFileSystem(machine().run, [esp, first, second], root.fsUuid ?? '')).toBe(first);
  });

  test('without a UUID only what Linux lives on is looked into', async () => {
    const { run, seen } = machine();
    await expect(findRootFileSystem(run, [esp], undefined)).rejects.toThrow('no partition holds a Linux system');
    expect(seen).toEqual([]);
  });

  test('one that can not be mounted does not end the search, and is named', async () => {
    const foreign = partition('/dev/md0p2', 'xfs', 'f');
    const found = machine();
    const run: Run = async (...call) => {
      if (call[1].includes(foreign.name)) throw new AppError('command_failed', 'wrong fs type');
      if (call[0] === 'mount') await mkdir(join(call[1].at(-1) ?? '', 'etc/os-release'), { recursive: true });
      return found.run(...call);
    };
    expect(await findRootFileSystem(run, [foreign, root], undefined)).toBe(root);
    await expect(findRootFileSystem(run, [foreign], undefined)).rejects.toMatchObject({
      message: expect.stringContaining('could not be looked into: /dev/md0p2'),
      cause: expect.objectContaining({ message: 'mount /dev/md0p2' }),
    });
  });
});

test('what programs of the system need is mounted below it, and all goes when the work fails', async () => {
  const { run, seen } = machine();
  const failure = new AppError('not_found', 'no GRUB');
  const options = { root, espDevice: esp.name, devices: ['/dev/stdin', '/dev/stdin', '/dev/gone'] };
  await expect(withDeployedSystem(run, options, () => Promise.reject(failure))).rejects.toBe(failure);
  expect(seen).toEqual([
    'mount -o rw,nodev /dev/md0p3 ROOT',
    'mount -t tmpfs -o mode=0755,nosuid,noexec tmpfs ROOT/dev',
    'cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/stdin ROOT/dev',
    'mount -t sysfs -o ro,nosuid,nodev,noexec sysfs ROOT/sys',
    'mount -t tmpfs -o mode=0755,nosuid,nodev tmpfs ROOT/run',
    'mount -t vfat -o rw,nosuid,nodev,noexec /dev/md0p1 ROOT/boot/efi',
    'umount --recursive ROOT',
  ]);
});
