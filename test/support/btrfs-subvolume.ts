import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';

/**
 * Makes a btrfs whose default subvolume is `@`, as installers do: Linux shows the subvolume by itself, other programs the top.
 * Needs root and a kernel with btrfs.
 * @param tree the subvolume's files
 */
export async function makeBtrfs(device: string, tree: string, options: { readonly uuid?: string } = {}): Promise<void> {
  await run('mkfs.btrfs', ['-q', '-f', ...(options.uuid ? ['-U', options.uuid] : []), device]);
  const folder = `${tree}.btrfs`;
  await mkdir(folder, { recursive: true });
  await run('mount', ['-t', 'btrfs', device, folder]);
  try {
    const subvolume = join(folder, '@');
    await run('btrfs', ['subvolume', 'create', subvolume]);
    await cp(tree, subvolume, { recursive: true });
    await run('btrfs', ['subvolume', 'set-default', subvolume]);
  } finally {
    await run('umount', [folder]);
  }
}
