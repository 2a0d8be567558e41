import { lstat, open, readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseSubvolume, rootsInFstab, rootsInLoader, type SystemSubvolume } from '#agent/inject/choose-subvolume.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import { mountedSubvolume } from '#agent/storage/file-systems/mounted-subvolume.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Files by which a file system is known to hold a Linux system that can be started. */
const systemMarks = ['etc/os-release', 'usr/lib/os-release'];

/** Files of a system that say how its kernel is started. */
const loaderFiles = ['etc/kernel/cmdline', 'boot/grub/grub.cfg', 'boot/grub2/grub.cfg', 'etc/default/grub'];
const entriesFolder = 'boot/loader/entries';

/** Type of the file system by `statfs`. */
const btrfsMagic = 0x9123683e;
/** Inode of the folder that a subvolume is. */
const subvolumeInode = 256;
const maxFolders = 10_000;
const maxEntries = 100;
const maxFileBytes = 1024 * 1024;

/**
 * Finds the subvolume of a btrfs that its system lives in and Linux does not mount by itself, as Debian's and Ubuntu's
 * installers make it (`@rootfs`, `@`). A file system whose type isn't known is looked at.
 * @returns its path, `/@`; `undefined` for other file systems, where the default subvolume is the root, and where no
 * subvolume holds a system
 * @throws AppError `conflict` where several may be the root, `not_supported` for a name that can't be a mount option,
 * `storage_error`
 */
export async function findRootSubvolume(
  run: Run,
  { name, fsType }: { readonly name: string; readonly fsType?: string | null | undefined },
): Promise<string | undefined> {
  if (fsType !== undefined && fsType !== 'btrfs') return undefined;
  const mounted = await withMounted(run, name, mountHarmless('ro'), async (root) =>
    (await statfs(root)).type === btrfsMagic ? { system: await lookAt(root, await mountedSubvolume(root)) } : undefined,
  );
  if (mounted === undefined) return undefined;
  const byDefault = mounted.system;
  const words = byDefault?.rootsByItsWords ?? [];
  if (byDefault && words.every((root) => root === byDefault.path)) return undefined;
  const below = await withMounted(run, name, mountHarmless('ro', '/'), findSystems);
  const others = below.filter(({ path }) => path !== byDefault?.path);
  const chosen = chooseSubvolume([...(byDefault ? [byDefault] : []), ...others], byDefault?.path, name);
  if (chosen === undefined || chosen === byDefault) return undefined;
  if (/[,"\\\p{Cc}]/u.test(chosen.path)) {
    throw new AppError(
      'not_supported',
      `the root of ${name} is the subvolume ${chosen.path}, which mount can't be given`,
    );
  }
  return `/${chosen.path}`;
}

/** Whether a file system that is mounted holds a Linux system. */
export async function holdsSystem(root: string): Promise<boolean> {
  return (await Promise.all(systemMarks.map(async (mark) => exists(await resolveInside(root, mark))))).includes(true);
}

/** Systems of the top of a btrfs, and of the subvolumes there and in its folders. */
async function findSystems(top: string): Promise<readonly SystemSubvolume[]> {
  const paths = [''];
  let folders = 0;
  const collect = async (folder: string, levels: number): Promise<void> => {
    for (const path of await listFolders(top, folder)) {
      folders += 1;
      if (folders > maxFolders) {
        throw new AppError('not_supported', `the btrfs has more than ${maxFolders} folders that its root may be in`);
      }
      if (await isSubvolume(top, path)) paths.push(path);
      else if (levels > 1) await collect(path, levels - 1);
    }
  };
  await collect('', 2);
  const found: (SystemSubvolume | undefined)[] = [];
  for (const path of paths) found.push(await lookAt(join(top, path), path));
  return found.filter((each) => each !== undefined);
}

async function listFolders(top: string, path: string): Promise<string[]> {
  const entries = await readdir(join(top, path), { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [join(path, entry.name)] : [])).sort();
}

async function isSubvolume(top: string, path: string): Promise<boolean> {
  return (await lstat(join(top, path))).ino === subvolumeInode;
}

/**
 * The system of a subvolume; `undefined` = it holds none.
 * @param root the folder that shows it
 * @param path of it, inside its file system
 */
async function lookAt(root: string, path: string): Promise<SystemSubvolume | undefined> {
  if (!(await holdsSystem(root))) return undefined;
  const inFstab = rootsInFstab(await readBeginning(root, 'etc/fstab'));
  const rootsByItsWords = inFstab.length > 0 ? inFstab : await rootsByLoader(root);
  return { path: path.split('/').filter(Boolean).join('/'), rootsByItsWords };
}

async function rootsByLoader(root: string): Promise<readonly string[]> {
  const folder = await resolveInside(root, entriesFolder);
  const entries = await unlessAbsent(readdir(folder), []);
  const files = [...loaderFiles, ...entries.slice(0, maxEntries).map((name) => `${entriesFolder}/${name}`)];
  const texts = await Promise.all(files.map((file) => readBeginning(root, file)));
  return rootsInLoader(texts.join('\n'));
}

/** Reads the beginning of a file in a mounted file system; empty where there is none, or no plain file. */
export async function readBeginning(root: string, path: string): Promise<string> {
  const inside = await resolveInside(root, path);
  const found = await unlessAbsent(lstat(inside), undefined);
  // a pipe would be waited for without end
  if (!found?.isFile()) return '';
  await using handle = await open(inside);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(found.size, maxFileBytes)));
  return buffer.subarray(0, bytesRead).toString();
}

async function exists(path: string): Promise<boolean> {
  return (await unlessAbsent(lstat(path), undefined)) !== undefined;
}

async function unlessAbsent<T>(reading: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return otherwise;
    throw error;
  }
}
