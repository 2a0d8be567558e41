import type { RootFileSystem } from '#agent/boot/deployed-system.ts';
import { findGrubFolder, findKernels, listNames } from '#agent/boot/grub-configuration.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import { mountedSubvolume } from '#agent/storage/file-systems/mounted-subvolume.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

type Partition = Pick<RootFileSystem, 'name' | 'fsType' | 'subvolume'>;

/** GRUB reads slowly, and under emulation kernels and initrds take minutes. */
const readTimeoutMs = 15 * 60_000;

/**
 * Has GRUB's own file system code read, from the written partition, what the machine will start from: its configuration,
 * and the newest kernel with its initrd. Linux reads file systems that GRUB does not, and the machine would stop at its
 * prompt.
 * @throws AppError `not_supported` naming the file, and what of the file system GRUB does not know
 */
export async function requireGrubReadable(run: Run, partition: Partition): Promise<void> {
  await run('blockdev', ['--flushbufs', partition.name]);
  await withMounted(run, partition.name, mountHarmless('ro', partition.subvolume), async (root) => {
    const subvolume = await mountedSubvolume(root);
    for (const path of await bootFiles(root)) {
      const file = await resolveInside(root, path);
      const forGrub = `(loop0)${subvolume}/${path}`;
      try {
        await run('grub-fstest', [partition.name, 'cmp', forGrub, file], { timeoutMs: readTimeoutMs });
      } catch (cause) {
        if (errorCode(cause) !== 'command_failed') throw cause;
        throw new AppError(
          'not_supported',
          `GRUB can't read /${path} on ${partition.name}, so the machine would not boot: ${await describeReason(run, partition)}`,
          { cause },
        );
      }
    }
  });
}

async function bootFiles(root: string): Promise<readonly string[]> {
  const [newest] = findKernels(await listNames(root, 'boot'));
  const kernel = newest ? [newest.kernel, newest.initrd ?? []].flat().map((name) => `boot/${name}`) : [];
  return [`${await findGrubFolder(root)}/grub.cfg`, ...kernel];
}

async function describeReason(run: Run, { name, fsType }: Omit<Partition, 'subvolume'>): Promise<string> {
  const features = await unreadFeatures(run, { name, fsType });
  return features.length > 0
    ? `of its ${fsType} file system's features GRUB does not know ${features.join(', ')}: make the image without`
    : `GRUB does not read its ${fsType ?? 'unknown'} file system, or not all of it`;
}

/**
 * Lists the features of an ext file system that the ramdisk's GRUB does not know; none where it can't be said which.
 */
async function unreadFeatures(run: Run, { name, fsType }: Omit<Partition, 'subvolume'>): Promise<readonly string[]> {
  if (!fsType?.startsWith('ext')) return [];
  try {
    return unreadExtFeatures((await run('dumpe2fs', ['-h', name])).stdout);
  } catch {
    return [];
  }
}

/** Features of ext4 that GRUB 2.06 of Debian reads, or that change nothing for who only reads. */
const readableExtFeatures: ReadonlySet<string> = new Set(
  (
    'has_journal needs_recovery ext_attr resize_inode dir_index filetype extent 64bit flex_bg meta_bg sparse_super ' +
    'sparse_super2 large_file huge_file dir_nlink extra_isize metadata_csum metadata_csum_seed uninit_bg quota project ' +
    'mmp large_dir encrypt verity orphan_file orphan_present fast_commit stable_inodes'
  ).split(' '),
);

/** Parses `dumpe2fs -h`. Pure. */
export function unreadExtFeatures(stdout: string): readonly string[] {
  const [, listed = ''] = /^Filesystem features:\s*(.*)$/m.exec(stdout) ?? [];
  return listed.split(/\s+/).filter((name) => name !== '' && !readableExtFeatures.has(name));
}
