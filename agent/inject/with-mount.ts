import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * Mounts a device for `use` and unmounts it, whatever happens.
 * Nothing on it can act on this machine: no device nodes, no programs, no set-user-id.
 * @throws AppError `storage_error`, and what `use` throws.
 */
export async function withMount<T>(
  run: Run,
  device: string,
  access: 'ro' | 'rw',
  use: (root: string) => Promise<T>,
): Promise<T> {
  const root = await mkdtemp(join(tmpdir(), 'baton-mount-'));
  try {
    try {
      await run('mount', ['-o', `${access},nodev,nosuid,noexec`, device, root]);
    } catch (cause) {
      throw new AppError('storage_error', `mount ${device}`, { cause });
    }
    try {
      return await use(root);
    } finally {
      await run('umount', [root]);
    }
  } finally {
    await rmdir(root);
  }
}
