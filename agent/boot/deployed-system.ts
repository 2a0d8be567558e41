import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProbedPartition } from '#agent/storage/block-device.ts';
import { withMounted } from '#agent/storage/mount.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run, RunOptions, RunResult } from '#shared/process/run.ts';

/** A deployed system, mounted, with the kernel's file systems below it. */
export interface DeployedSystem {
  readonly root: string;
  /** Runs one of the system's own programs in it; for at most 10 minutes, if `options` don't say otherwise. */
  readonly run: (command: string, args: readonly string[], options?: RunOptions) => Promise<RunResult>;
  /** The first of `commands` that the system has; `undefined` when it has none. */
  readonly find: (commands: readonly string[]) => Promise<string | undefined>;
}

/** GRUB's tools probe every disk, and read and write whole module folders: minutes under emulation. */
const commandTimeoutMs = 10 * 60_000;
const searchPath = ['usr/sbin', 'usr/bin', 'sbin', 'bin'];

/** What a file system holds that a Linux system is started from. */
const systemMarks = ['etc/os-release', 'usr/lib/os-release'];

/**
 * Mounts the deployed system with /dev, /proc, /sys (EFI variables too), an empty /run, and its EFI system partition at
 * /boot/efi, while `use` works in it; all is unmounted whatever comes of that.
 * @throws AppError as `withMounted`; else what `use` throws.
 */
export async function withDeployedSystem<T>(
  run: Run,
  rootDevice: string,
  espDevice: string | undefined,
  use: (system: DeployedSystem) => Promise<T>,
): Promise<T> {
  return withMounted(run, rootDevice, { options: ['rw'] }, async (root) => {
    for (const folder of ['dev', 'proc', 'sys']) {
      await mkdir(join(root, folder), { recursive: true });
      await run('mount', ['--rbind', `/${folder}`, join(root, folder)]);
      // unmounting below the deployed system must not reach the ramdisk's own mounts
      await run('mount', ['--make-rslave', join(root, folder)]);
    }
    // not the ramdisk's own: the agent's token is there, and the image's programs are not ours
    await mkdir(join(root, 'run'), { recursive: true });
    await run('mount', ['-t', 'tmpfs', '-o', 'mode=0755,nosuid,nodev', 'tmpfs', join(root, 'run')]);
    if (espDevice !== undefined) {
      await mkdir(join(root, 'boot/efi'), { recursive: true });
      await run('mount', ['-t', 'vfat', espDevice, join(root, 'boot/efi')]);
    }
    return use({
      root,
      run: (command, args, options = {}) =>
        run('chroot', [root, command, ...args], {
          timeoutMs: commandTimeoutMs,
          ...options,
          env: {
            PATH: searchPath.map((folder) => `/${folder}`).join(':'),
            LC_ALL: 'C.UTF-8',
            ...options.env,
          },
        }),
      find: async (commands) => {
        for (const command of commands) if (await isProgram(root, command)) return command;
        return undefined;
      },
    });
  });
}

async function isProgram(root: string, command: string): Promise<boolean> {
  return (await Promise.all(searchPath.map((folder) => exists(join(root, folder, command))))).includes(true);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    // a link that leads out of the mount is not there either, which is right: it leads elsewhere in the system
    return false;
  }
}

const linuxFileSystems: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs']);

/**
 * The partition with the root file system: the one of this UUID; without one, the first that holds a Linux system. One
 * that can't be mounted does not end the search.
 * @throws AppError `not_found` telling what was looked at, and what could not be; the first mount's error is its cause.
 */
export async function findRootFileSystem(
  run: Run,
  partitions: readonly ProbedPartition[],
  uuid: string | undefined,
): Promise<ProbedPartition> {
  const listed = partitions.map(
    ({ name, fsType, fsUuid }) => `${name} (${fsType ?? 'no file system'} ${fsUuid ?? ''})`,
  );
  const seen = listed.join(', ') || 'no partitions';
  if (uuid !== undefined) {
    const found = partitions.find(({ fsUuid }) => fsUuid?.toLowerCase() === uuid.toLowerCase());
    if (found) return found;
    throw new AppError('not_found', `no file system has the UUID ${uuid}; found: ${seen}`);
  }
  const unread = new Map<string, unknown>();
  for (const partition of partitions.filter(({ fsType }) => fsType !== null && linuxFileSystems.has(fsType))) {
    try {
      const holdsSystem = await withMounted(run, partition.name, { options: ['ro'] }, async (folder) =>
        (await Promise.all(systemMarks.map((mark) => exists(join(folder, mark))))).includes(true),
      );
      if (holdsSystem) return partition;
    } catch (error) {
      if (error instanceof AppError && error.code === 'aborted') throw error;
      unread.set(partition.name, error);
    }
  }
  const [cause] = unread.values();
  const rest = unread.size > 0 ? `; could not be looked into: ${[...unread.keys()].join(', ')}` : '';
  throw new AppError('not_found', `no partition holds a Linux system: there are ${seen}${rest}`, { cause });
}
