import { mkdir, mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
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
    // the failure that led here is the one to tell
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
 * Unmounts a folder with all below it, and removes it. Whoever looks at a file there keeps it busy, and gives no event
 * when it is done: so it is tried several times.
 */
export async function unmount(run: Run, folder: string, clock: Clock = systemClock): Promise<void> {
  await retry(() => runCleanup(run, 'umount', ['--recursive', folder]), {
    clock,
    attempts: unmountTries,
    delayMs: (attempt) => 100 * attempt,
  });
  // not before: a folder with something mounted on it stays, and the failure to unmount is what is told
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
