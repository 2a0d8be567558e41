import { access, cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { sandboxArguments } from '#agent/boot/sandbox.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { findRootSubvolume, holdsSystem } from '#agent/inject/root-subvolume.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run, RunOptions, RunResult } from '#shared/process/run.ts';

/** A deployed system, mounted, with file systems of the kernel below it. */
export interface DeployedSystem {
  readonly root: string;
  /**
   * Runs one of the system's own programs in a sandbox; for at most 10 minutes, if `options` don't say otherwise. What it
   * writes to standard output is not kept.
   */
  readonly run: (command: string, args: readonly string[], options?: RunOptions) => Promise<RunResult>;
  /** The first of `commands` that the system has; `undefined` when it has none. */
  readonly find: (commands: readonly string[]) => Promise<string | undefined>;
}

export interface DeployedSystemOptions {
  readonly root: Pick<RootFileSystem, 'name' | 'subvolume'>;
  readonly espDevice: string | undefined;
  /** The only ones that programs of the system see, disks and partitions; those named above are among them. */
  readonly devices: readonly string[];
  /** Whether they have the ramdisk's network; else they have none. */
  readonly network?: boolean;
}

/** GRUB's tools probe every disk, and read and write whole module folders: minutes under emulation. */
const commandTimeoutMs = 10 * 60_000;
const searchPath = ['usr/sbin', 'usr/bin', 'sbin', 'bin'];

const plainDevices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
/** By uuid and label, which GRUB's configuration is made with. */
const deviceLinks = ['disk', 'md'];

/**
 * Mounts the deployed system with a /dev that has its own disks alone, a /sys that can only be read, an empty /run, and
 * its EFI system partition at /boot/efi, while `use` works in it; all is unmounted whatever comes of that. Links of the
 * system are followed inside of it: it may have `/run` lead anywhere.
 * @throws AppError as `withMounted` and `resolveInside`; else what `use` throws.
 */
export async function withDeployedSystem<T>(
  run: Run,
  { root: rootFileSystem, espDevice, devices, network = false }: DeployedSystemOptions,
  use: (system: DeployedSystem) => Promise<T>,
): Promise<T> {
  const { name, subvolume } = rootFileSystem;
  const options = ['rw', 'nodev', ...(subvolume === undefined ? [] : [`subvol=${subvolume}`])];
  return withMounted(run, name, { options }, async (root) => {
    await fillDev(run, await makeFolder(root, 'dev'), devices);
    const proc = await makeFolder(root, 'proc');
    const harmless = 'nosuid,nodev,noexec';
    await run('mount', ['-t', 'sysfs', '-o', `ro,${harmless}`, 'sysfs', await makeFolder(root, 'sys')]);
    // not the ramdisk's own: the agent's token is there, and the image's programs are not ours
    await run('mount', ['-t', 'tmpfs', '-o', 'mode=0755,nosuid,nodev', 'tmpfs', await makeFolder(root, 'run')]);
    if (espDevice !== undefined) {
      await run('mount', ['-t', 'vfat', '-o', `rw,${harmless}`, espDevice, await makeFolder(root, 'boot/efi')]);
    }
    return use({
      root,
      run: async (command, args, options = {}) =>
        run('unshare', sandboxArguments({ root, proc, network }, await requireProgram(root, command), args), {
          timeoutMs: commandTimeoutMs,
          // a program that writes without end would fill the agent's memory
          onStdoutLine: () => undefined,
          ...options,
          env: {
            PATH: searchPath.map((folder) => `/${folder}`).join(':'),
            LC_ALL: 'C.UTF-8',
            ...options.env,
          },
        }),
      find: async (commands) => {
        for (const command of commands) if ((await programPath(root, command)) !== undefined) return command;
        return undefined;
      },
    });
  });
}

/** The folder that the system knows by this path, made where it is missing. */
async function makeFolder(root: string, path: string): Promise<string> {
  const folder = await resolveInside(root, path);
  await mkdir(folder, { recursive: true });
  return folder;
}

async function fillDev(run: Run, folder: string, devices: readonly string[]): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', 'mode=0755,nosuid,noexec', 'tmpfs', folder]);
  // those of a list that is a moment old
  const there = await Promise.all([...new Set(devices)].map(async (name) => ((await exists(name)) ? [name] : [])));
  await run('cp', ['-a', ...plainDevices.map((name) => `/dev/${name}`), ...there.flat(), folder]);
  for (const name of deviceLinks) await copyLinks(join('/dev', name), join(folder, name));
  await mkdir(join(folder, 'shm'), { mode: 0o1777 });
  await symlink('/proc/self/fd', join(folder, 'fd'));
  for (const [number, name] of ['stdin', 'stdout', 'stderr'].entries()) {
    await symlink(`/proc/self/fd/${number}`, join(folder, name));
  }
}

/** Copies links; those of disks that the system does not see lead nowhere. */
async function copyLinks(from: string, to: string): Promise<void> {
  if (!(await exists(from))) return;
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
}

/** `/usr/sbin/grub-install`; a path is taken as it is. */
async function programPath(root: string, command: string): Promise<string | undefined> {
  const paths = command.startsWith('/') ? [command] : searchPath.map((folder) => `/${folder}/${command}`);
  for (const path of paths) if (await exists(await resolveInside(root, path))) return path;
  return undefined;
}

async function requireProgram(root: string, command: string): Promise<string> {
  const path = await programPath(root, command);
  if (path === undefined) throw new AppError('not_found', `the deployed system has no program ${command}`);
  return path;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}

const linuxFileSystems: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs']);

export interface RootFileSystem extends ProbedPartition {
  /** Path of the subvolume that the system lives in; `undefined` for what Linux mounts by itself. */
  readonly subvolume?: string | undefined;
}

/**
 * The partition with the root file system: the one of this UUID; without one, the first that holds a Linux system. One
 * that can't be mounted does not end the search.
 * @throws AppError `not_found` with what was looked at and what could not be; the first mount's error is its cause;
 * `conflict` where two have that UUID, or several subvolumes may be the root
 */
export async function findRootFileSystem(
  run: Run,
  partitions: readonly ProbedPartition[],
  uuid: string | undefined,
): Promise<RootFileSystem> {
  const listed = partitions.map(
    ({ name, fsType, fsUuid }) => `${name} (${fsType ?? 'no file system'} ${fsUuid ?? ''})`,
  );
  const seen = listed.join(', ') || 'no partitions';
  if (uuid !== undefined) {
    const [found, ...others] = partitions.filter(({ fsUuid }) => fsUuid?.toLowerCase() === uuid.toLowerCase());
    // one btrfs lies on several partitions; any of them mounts it
    if (found && (others.length === 0 || [found, ...others].every(({ fsType }) => fsType === 'btrfs'))) {
      return withSubvolume(run, found);
    }
    if (found) {
      const names = [found, ...others].map(({ name }) => name).join(' and ');
      throw new AppError(
        'conflict',
        `${names} have one UUID, ${uuid}: which of them is the root file system is not known: give each file system of the image its own`,
      );
    }
    throw new AppError('not_found', `no file system has the UUID ${uuid}; found: ${seen}`);
  }
  const unread = new Map<string, unknown>();
  for (const partition of partitions.filter(({ fsType }) => fsType !== null && linuxFileSystems.has(fsType))) {
    try {
      const root = await withSubvolume(run, partition);
      if (await withMounted(run, root.name, mountHarmless('ro', root.subvolume), holdsSystem)) return root;
    } catch (error) {
      if (error instanceof AppError && (error.code === 'aborted' || error.code === 'conflict')) throw error;
      unread.set(partition.name, error);
    }
  }
  const [cause] = unread.values();
  const rest = unread.size > 0 ? `; could not be looked into: ${[...unread.keys()].join(', ')}` : '';
  throw new AppError('not_found', `no partition holds a Linux system: there are ${seen}${rest}`, { cause });
}

async function withSubvolume(run: Run, partition: ProbedPartition): Promise<RootFileSystem> {
  const subvolume = await findRootSubvolume(run, partition);
  return subvolume === undefined ? partition : { ...partition, subvolume };
}
