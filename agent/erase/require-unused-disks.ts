import { nameDisk } from '#agent/erase/choose-disks.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * What stands against erasing disks: something uses them that is no RAID array, or an array that a disk to be kept is
 * in too.
 * @throws AppError `storage_error` naming disk and user.
 */
export function requireUnusedDisks(disks: readonly BlockDevice[], kept: readonly BlockDevice[]): void {
  for (const disk of disks) requireNotInUse(disk, kept);
}

function requireNotInUse(disk: BlockDevice, kept: readonly BlockDevice[]): void {
  if (disk.mountpoints.length > 0) {
    throw new AppError('storage_error', `${nameDisk(disk)} is in use: mounted on ${disk.mountpoints.join(', ')}`);
  }
  for (const holder of disk.holders) {
    if (!holder.startsWith('/dev/md')) {
      throw new AppError(
        'storage_error',
        `${nameDisk(disk)} is in use by ${holder}, which is not a RAID array and can't be stopped`,
      );
    }
    const sharer = kept.find(({ holders }) => holders.includes(holder));
    if (sharer) {
      throw new AppError(
        'storage_error',
        `${nameDisk(disk)} and ${nameDisk(sharer)}, which is skipped, are both members of ${holder}`,
      );
    }
  }
}
