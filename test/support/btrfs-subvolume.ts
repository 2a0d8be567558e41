import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';

export interface BtrfsOptions {
  readonly uuid?: string;
  /** Subvolumes that get the files, from the top; default `@`. Folders above them are made. */
  readonly subvolumes?: readonly string[];
  /** The one of them that Linux mounts by itself, as openSUSE's installer makes it; `null` = the top, as of Debian and Ubuntu. */
  readonly byDefault?: string | null;
}

/**
 * Makes a btrfs with its system in subvolumes: Linux shows the default one by itself, other programs the top. Needs root and a
 * kernel with btrfs.
 * @param tree the subvolumes' files
 */
export async function makeBtrfs(
  device: string,
  tree: string,
  { uuid, subvolumes = ['@'], byDefault = '@' }: BtrfsOptions = {},
): Promise<void> {
  await run('mkfs.btrfs', ['-q', '-f', ...(uuid ? ['-U', uuid] : []), device]);
  const folder = `${tree}.btrfs`;
  await mkdir(folder, { recursive: true });
  await run('mount', ['-t', 'btrfs', device, folder]);
  try {
    for (const name of subvolumes) {
      const subvolume = join(folder, name);
      await mkdir(join(subvolume, '..'), { recursive: true });
      await run('btrfs', ['subvolume', 'create', subvolume]);
      await cp(tree, subvolume, { recursive: true });
    }
    if (byDefault !== null) await run('btrfs', ['subvolume', 'set-default', join(folder, byDefault)]);
  } finally {
    await run('umount', [folder]);
  }
}
