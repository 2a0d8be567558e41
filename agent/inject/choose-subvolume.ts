import { parseFstab } from '#agent/inject/fstab.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A subvolume of a btrfs that holds a Linux system. */
export interface SystemSubvolume {
  /** From the top of the file system, without a slash before it: `@`; empty for the top itself. */
  readonly path: string;
  /**
   * Subvolumes that the system's own files say are its root: `/etc/fstab`'s, else those of its boot loader's `rootflags=`.
   * A snapshot has the words of the system that it was made of.
   */
  readonly rootsByItsWords: readonly string[];
}

/** Names that installers give to the root: Ubuntu, Arch and openSUSE; Debian; Fedora. */
const wellKnown: ReadonlySet<string> = new Set(['@', '@rootfs', 'root']);

/**
 * The root among the subvolumes of a btrfs. Where its default subvolume holds a system, Linux starts that one, unless its own
 * words name another that is there. Else the root is the one that says so itself; where none says anything, the only one, or
 * the only one with a well-known name. Pure.
 * @param byDefault the default subvolume's path, where it holds a system
 * @returns `undefined` where none holds a system
 * @throws AppError `conflict` naming those between which nothing decides
 */
export function chooseSubvolume(
  found: readonly SystemSubvolume[],
  byDefault: string | undefined,
  device: string,
): SystemSubvolume | undefined {
  if (found.length === 0) return undefined;
  const naming = found.filter(({ path, rootsByItsWords: [root, ...more] }) => more.length === 0 && root === path);
  const silent = found.filter(({ rootsByItsWords }) => rootsByItsWords.length === 0);
  const started = found.filter(({ path }) => path === byDefault);
  const known = silent.filter(({ path }) => wellKnown.has(path));
  const inOrder = [
    started.filter((each) => silent.includes(each) || naming.includes(each)),
    naming,
    started,
    silent.length > 1 && known.length > 0 ? known : silent,
  ];
  // of two that one rule finds none is the root, whatever the next rule says
  for (const candidates of inOrder) {
    const [only, another] = candidates;
    if (only && !another) return only;
    if (another) break;
  }
  throw new AppError(
    'conflict',
    `which subvolume of the btrfs on ${device} is the root is not known: ${found.map(describe).join(', ')} hold Linux systems; ` +
      "make the right one the image's default subvolume (btrfs subvolume set-default), or name it in its own /etc/fstab by subvol=",
  );
}

function describe({ path, rootsByItsWords }: SystemSubvolume): string {
  const words = rootsByItsWords.map(nameOf).join(' and ');
  return `${nameOf(path)}${words === '' ? '' : ` (which calls ${words} its root)`}`;
}

function nameOf(path: string): string {
  return path === '' ? 'the top' : path;
}

/** A subvolume that is named by its number alone, which says nothing of its path: `subvolid=256`. */
const byNumber = /^subvolid=(\d+)$/;

/**
 * Subvolumes that mount options name; the number of the top is the top. Pure.
 * @param options such as `defaults,subvol=/@,compress=zstd`
 */
function subvolumesIn(options: string): readonly string[] {
  const all = options.split(',');
  const named = all.flatMap((each) => (each.startsWith('subvol=') ? [pathOf(each.slice('subvol='.length))] : []));
  if (named.length > 0) return named;
  return all.flatMap((each) => {
    const number = byNumber.exec(each)?.[1];
    if (number === undefined) return [];
    return [number === '5' || number === '0' ? '' : each];
  });
}

/** Subvolumes that `/etc/fstab` mounts at `/`. Pure. */
export function rootsInFstab(text: string): readonly string[] {
  const roots = parseFstab(text).filter(({ point }) => point === '/');
  return distinct(roots.flatMap(({ options }) => subvolumesIn(options.join(','))));
}

/** Subvolumes that a boot loader's configuration, or a kernel's command line, names by `rootflags=`. Pure. */
export function rootsInLoader(text: string): readonly string[] {
  const flags = [...text.matchAll(/(?:^|[\s"'])rootflags=([^\s"'\\]+)/gm)].map(([, options = '']) => options);
  // of a script that makes a configuration: a variable is no name
  return distinct(flags.filter((options) => !options.includes('$')).flatMap(subvolumesIn));
}

function pathOf(name: string): string {
  return name.split('/').filter(Boolean).join('/');
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
