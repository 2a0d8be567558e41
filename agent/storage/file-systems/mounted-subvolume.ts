import { readFile, realpath } from 'node:fs/promises';

/**
 * The path, inside its file system, of what is mounted on a folder: `/@` where a btrfs has such a default subvolume, empty where it
 * is the whole. GRUB names files from the top, whichever subvolume Linux mounts by itself.
 * @param mountInfo text of `/proc/self/mountinfo`
 */
export async function mountedSubvolume(folder: string, mountInfo?: string): Promise<string> {
  const text = mountInfo ?? (await readFile('/proc/self/mountinfo', 'utf8'));
  return subvolumeIn(text, await realpath(folder));
}

/** The same of a folder by its own path; empty also where nothing is mounted on it. Pure. */
export function subvolumeIn(mountInfo: string, folder: string): string {
  const mounts = mountInfo.split('\n').map((line) => line.split(' '));
  const found = mounts.findLast(([, , , , point]) => point !== undefined && unescaped(point) === folder);
  const root = found?.[3];
  // where it is not known GRUB is tried with the top: it finds nothing there, or the same
  return root === undefined || root === '/' ? '' : unescaped(root);
}

/** `\040` is a space. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
