import { chmod, constants, lstat, mkdir, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { InjectedFile } from '#agent/inject/injected-file.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { AppError } from '#shared/errors/app-error.ts';

type Attributes = Pick<InjectedFile, 'path' | 'mode' | 'dirmode' | 'owner' | 'group'>;

/**
 * Writes a file into a file system mounted at `root`; folders that are missing are made.
 * @throws AppError `invalid_argument` when something else is there, `storage_error`.
 */
export async function placeFile(root: string, file: Attributes, content: Buffer): Promise<void> {
  const path = await resolveInside(root, file.path);
  try {
    await makeFolder(dirname(path), file.dirmode);
    await requirePlainFile(path, file.path);
    // NOFOLLOW: the links were followed above, inside the root
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    const handle = await open(path, flags, 0o644);
    try {
      await handle.writeFile(content);
      // -1 leaves it as it is
      if (file.owner !== undefined || file.group !== undefined) await handle.chown(file.owner ?? -1, file.group ?? -1);
      // the umask has no say in what the operator asked for, nor has an older file
      if (file.mode !== undefined) await handle.chmod(file.mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('storage_error', `write ${file.path}`, { cause });
  }
}

/** Removes a file, or the link that stands for it; one that is not there is no error. */
export async function removeFile(root: string, path: string): Promise<void> {
  const place = await resolveInside(root, path, { keepLast: true });
  try {
    await unlink(place);
  } catch (cause) {
    if (['ENOENT', 'ENOTDIR'].includes((cause as NodeJS.ErrnoException).code ?? '')) return;
    throw new AppError('storage_error', `remove ${path}`, { cause });
  }
}

async function makeFolder(folder: string, mode: number | undefined): Promise<void> {
  const made = await mkdir(folder, { recursive: true });
  if (made !== undefined && mode !== undefined) await chmod(folder, mode);
}

/** A pipe would block whoever opens it, a device node would be one of this machine. */
async function requirePlainFile(path: string, shown: string): Promise<void> {
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (there && !there.isFile()) {
    throw new AppError('invalid_argument', `${shown} is ${there.isDirectory() ? 'a folder' : 'no plain file'} there`);
  }
}
