import { mkdir, mkdtemp, readdir, readlink, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import { runCleanup } from '#shared/process/run-cleanup.ts';
import { retry } from '#shared/retry.ts';

export interface MountOptions {
  /** `vfat`; left to mount where it is not given. */
  readonly type?: string;
  readonly options: readonly string[];
}

/** All that the agent mounts is in here: what is found when it starts is what an earlier process of it left. */
export const mountsFolder = join(tmpdir(), 'baton-mounts');

const unmountTries = 5;

/**
 * Mounts a device on a folder of its own while `use` works there; unmounted with all below it whatever comes of that,
 * the agent's stop included.
 * @throws AppError `storage_error` when it can't be mounted, or unmounted after `use` was done; else what `use` throws.
 */
export async function withMounted<T>(
  run: Run,
  device: string,
  { type, options }: MountOptions,
  use: (folder: string) => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  await mkdir(mountsFolder, { recursive: true });
  const folder = await mkdtemp(join(mountsFolder, 'mount-'));
  try {
    await run('mount', [...(type ? ['-t', type] : []), '-o', options.join(','), device, folder]);
  } catch (cause) {
    const failure = new AppError('storage_error', `mount ${device}`, { cause });
    await removeUnmounted(run, folder).catch((second: unknown) => {
      throw new AppError('storage_error', `unmount ${device} after a failure (${String(second)})`, { cause: failure });
    });
    throw failure;
  }
  let result: T;
  try {
    result = await use(folder);
  } catch (error) {
    // the failure that led here is the one to report
    await unmount(run, folder, clock).catch((second: unknown) => {
      throw new AppError('storage_error', `unmount ${device} after a failure (${String(second)})`, { cause: error });
    });
    throw error;
  }
  try {
    await unmount(run, folder, clock);
  } catch (cause) {
    throw new AppError('storage_error', `unmount ${device}`, { cause });
  }
  return result;
}

/**
 * Unmounts a folder with all below it, and removes it. Anyone who looks at a file there keeps it busy, and gives no event
 * when it is done: so it is tried several times.
 */
async function unmount(run: Run, folder: string, clock: Clock = systemClock): Promise<void> {
  await retry(() => runCleanup(run, 'umount', ['--recursive', folder]), {
    clock,
    attempts: unmountTries,
    delayMs: (attempt) => 100 * attempt,
  });
  // not before: a folder with something mounted on it stays, and the failure to unmount is what is reported
  await rmdir(folder);
}

/** A mount that was stopped may have been done before it died. */
async function removeUnmounted(run: Run, folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    await unmount(run, folder);
  }
}

/**
 * Unmounts what an agent had mounted that died meanwhile: mounts outlive their process, and a disk with one is never
 * chosen nor erased. What can't be unmounted is logged; the step that needs the disk then fails and says so.
 * @param mountInfo text of `/proc/self/mountinfo`
 */
export async function unmountLeftovers(
  run: Run,
  mountInfo: string,
  log: Log,
  clock: Clock = systemClock,
): Promise<void> {
  for (const folder of mountedIn(mountInfo, mountsFolder)) {
    try {
      // a task of an earlier agent that still runs in there would run twice from now on
      await killInside(folder);
      await unmount(run, folder, clock);
      log.warn({ folder }, 'unmounted what an earlier agent had left');
    } catch (error) {
      log.error({ err: error, folder }, 'what an earlier agent had mounted could not be unmounted');
    }
  }
}

/** Mount points directly in `folder`, the last mounted first: pure. */
export function mountedIn(mountInfo: string, folder: string): readonly string[] {
  const points = mountInfo.split('\n').map((line) => line.split(' ')[4] ?? '');
  return [...new Set(points.filter((point) => dirname(point) === folder))].toReversed();
}

/**
 * Kills every process whose root folder is this one or below it: what a script has left running in a deployed system, a
 * service that its package manager started, would keep the system from being unmounted.
 * @returns how many there were
 */
async function killInside(root: string, procFolder = '/proc'): Promise<number> {
  const pids = (await readdir(procFolder)).filter((name) => /^\d+$/.test(name)).map(Number);
  const killed = await Promise.all(
    pids.map(async (pid) => {
      try {
        const itsRoot = await readlink(`${procFolder}/${pid}/root`);
        if (itsRoot !== root && !itsRoot.startsWith(`${root}/`)) return 0;
        process.kill(pid, 'SIGKILL');
        return 1;
      } catch {
        // it has ended meanwhile, or is a thread of the kernel
        return 0;
      }
    }),
  );
  return killed.reduce<number>((sum, one) => sum + one, 0);
}

/**
 * Nothing on a foreign file system can act on this machine: no device nodes, no programs, no set-user-id.
 * @param subvolume of a btrfs; without it its default
 */
export function mountHarmless(access: 'ro' | 'rw', subvolume?: string): MountOptions {
  return {
    options: [access, 'nodev', 'nosuid', 'noexec', ...(subvolume === undefined ? [] : [`subvol=${subvolume}`])],
  };
}
