import { nameDisk } from '#agent/erase/choose-disks.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * Makes sure that nothing uses the disks: stops the RAID arrays on them. A running array writes its superblocks again
 * as long as it runs, and holds its members.
 * @param kept disks that must stay as they are: an array on one of them can't be stopped
 * @throws AppError `storage_error` naming disk and user, before anything is stopped.
 */
export async function releaseDisks(
  run: Run,
  disks: readonly BlockDevice[],
  kept: readonly BlockDevice[],
): Promise<void> {
  // before the first disk is touched: an error must not leave some disks wiped for no reason
  for (const disk of disks) refuseInUse(disk, kept);
  const holders = new Set(disks.flatMap((disk) => disk.holders));
  for (const holder of holders) await run('mdadm', ['--stop', holder]);
  if (holders.size > 0) await waitForUdev(run);
}

function refuseInUse(disk: BlockDevice, kept: readonly BlockDevice[]): void {
  if (disk.mountpoints.length > 0) {
    throw new AppError('storage_error', `${nameDisk(disk)} is in use: mounted on ${disk.mountpoints.join(', ')}`);
  }
  for (const holder of disk.holders) {
    if (!holder.startsWith('/dev/md')) {
      throw new AppError('storage_error', `${nameDisk(disk)} is in use by ${holder}, which is no RAID array to stop`);
    }
    const sharer = kept.find(({ holders }) => holders.includes(holder));
    if (sharer) {
      throw new AppError(
        'storage_error',
        `${nameDisk(disk)} and ${nameDisk(sharer)}, which is to be skipped, are both in ${holder}`,
      );
    }
  }
}
