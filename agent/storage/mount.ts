import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

export interface MountOptions {
  /** `vfat`; left to mount where it is not given. */
  readonly type?: string;
  readonly options: readonly string[];
}

/**
 * Mounts a device on a folder of its own while `use` works there; unmounted with all below it whatever comes of that.
 * @throws AppError `storage_error` when it can't be mounted, or unmounted after `use` was done; else what `use` throws.
 */
export async function withMounted<T>(
  run: Run,
  device: string,
  { type, options }: MountOptions,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'mount-'));
  try {
    try {
      await run('mount', [...(type ? ['-t', type] : []), '-o', options.join(','), device, folder]);
    } catch (cause) {
      throw new AppError('storage_error', `mount ${device}`, { cause });
    }
    return await thenUnmount(run, device, folder, use);
  } finally {
    await rmdir(folder);
  }
}

async function thenUnmount<T>(
  run: Run,
  device: string,
  folder: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  let result: T;
  try {
    result = await use(folder);
  } catch (error) {
    // the failure that led here is the one to tell
    await unmount(run, device, folder).catch((second: unknown) => {
      throw new AppError('storage_error', `unmount ${device} after a failure (${String(second)})`, { cause: error });
    });
    throw error;
  }
  await unmount(run, device, folder);
  return result;
}

async function unmount(run: Run, device: string, folder: string): Promise<void> {
  try {
    await run('umount', ['--recursive', folder]);
  } catch (cause) {
    throw new AppError('storage_error', `unmount ${device}`, { cause });
  }
}
