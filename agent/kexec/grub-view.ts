import { findRootSubvolume } from '#agent/inject/root-subvolume.ts';
import { notUnderstood } from '#agent/kexec/grub-script.ts';
import { type MountOptions, mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import { mountedSubvolume } from '#agent/storage/file-systems/mounted-subvolume.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Mounts a file system as GRUB names its files: a btrfs from its top, whichever subvolume Linux mounts by itself. */
export function mountForGrub({ fsType }: Pick<ProbedPartition, 'fsType'>): MountOptions {
  return mountHarmless('ro', fsType === 'btrfs' ? '/' : undefined);
}

export interface SystemFolder {
  /** From the top of the file system: `@`; empty for the top itself, and where no subvolume holds a system. */
  readonly path: string;
  /**
   * SUSE's GRUB takes paths for those of the default subvolume, others for those of the top: where that is another, paths that
   * don't begin with it have two meanings.
   */
  readonly isDefault: boolean;
}

/**
 * Finds the folder that a system's own `/` is in its file system.
 * @throws AppError `not_supported` where it isn't known which subvolume is the root
 */
export async function findSystemFolder(run: Run, partition: ProbedPartition): Promise<SystemFolder> {
  if (partition.fsType !== 'btrfs') return { path: '', isDefault: false };
  let subvolume: string | undefined;
  try {
    subvolume = await findRootSubvolume(run, partition);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'aborted') throw error;
    throw notUnderstood(errorChain(error));
  }
  if (subvolume !== undefined) return { path: subvolume.slice(1), isDefault: false };
  const mounted = await withMounted(run, partition.name, mountHarmless('ro'), (root) => mountedSubvolume(root));
  return { path: mounted.replace(/^\/+/, ''), isDefault: mounted !== '' };
}
