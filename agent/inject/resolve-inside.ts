import { lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';

const maxLinks = 40;

/**
 * Where a path of a mounted file system leads when its links are followed as if the mount were the root folder, as
 * they are once the system runs. An image may hold any link: `/etc` to `/proc/1/root/etc` must not reach the ramdisk.
 * Components that don't exist are taken as they are.
 * Nobody else changes the file system while it is ours, so that what was looked at is what is opened.
 * @returns a path that begins with `root` and has no link in it, but for its last component if `keepLast`
 * @throws AppError `invalid_argument` for a link that climbs out of the root, or links in a circle.
 */
export async function resolveInside(
  root: string,
  path: string,
  options: { readonly keepLast?: boolean } = {},
): Promise<string> {
  const pending = path.split('/').filter((part) => part !== '' && part !== '.');
  const done: string[] = [];
  for (let links = 0; pending.length > 0; ) {
    const part = pending.shift() ?? '';
    if (part === '..') {
      if (done.length === 0) throw new AppError('invalid_argument', `${path} leads out of its file system`);
      done.pop();
      continue;
    }
    const here = join(root, ...done, part);
    const target = options.keepLast && pending.length === 0 ? undefined : await readLink(here);
    if (target === undefined) {
      done.push(part);
      continue;
    }
    links += 1;
    if (links > maxLinks) throw new AppError('invalid_argument', `${path} has links that lead in a circle`);
    if (target.startsWith('/')) done.length = 0;
    pending.unshift(...target.split('/').filter((each) => each !== '' && each !== '.'));
  }
  return join(root, ...done);
}

async function readLink(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw new AppError('storage_error', `look at ${path}`, { cause: error });
  }
}
