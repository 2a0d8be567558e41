import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { isNoDisk, isVirtualMedium } from '#shared/disks/disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type DiskMarks, type SkippedDisk, skipReasons } from '#shared/wire/erase-result.ts';

export interface ChosenDisks {
  readonly disks: readonly BlockDevice[];
  readonly skipped: readonly SkippedDisk[];
}

/** Buses whose disks always have a medium. On the others a removable device without capacity is an empty card reader. */
const busesOfDisks: ReadonlySet<string | null> = new Set(['ata', 'sata', 'sas', 'nvme', 'fc']);

/**
 * Which disks to erase: pure. Removable ones too: SD cards and disks in hot-plug bays say so of themselves, and hold what
 * the last tenant wrote. What is not a disk at all (optical drives, RAM disks, RAID volumes, which go with their
 * members) is not mentioned.
 * @param options.skipUnusable a disk without capacity is left out and reported, where less than all is promised
 * @throws AppError `storage_error` naming the disks that can't be erased: read-only ones, unless such are to be
 * skipped, and those that show no capacity, being broken or locked. Before anything is touched.
 */
export function chooseDisks(
  devices: readonly BlockDevice[],
  isSkipped: (disk: BlockDevice) => boolean,
  options: { readonly skipReadOnly: boolean; readonly skipUnusable?: boolean },
): ChosenDisks {
  const disks: BlockDevice[] = [];
  const skipped: SkippedDisk[] = [];
  const refused: string[] = [];
  for (const disk of devices.filter(isDisk)) {
    const reason = reasonToSkip(disk, isSkipped);
    const unusable = reasonUnusable(disk);
    if (reason !== undefined) skipped.push(leftAlone(disk, reason));
    else if (unusable !== undefined && options.skipUnusable) skipped.push(leftAlone(disk, unusable.reason));
    else if (unusable !== undefined) refused.push(`${nameDisk(disk)} ${unusable.remedy}`);
    else if (!disk.readOnly) disks.push(disk);
    else if (options.skipReadOnly) skipped.push(leftAlone(disk, skipReasons.readOnly));
    else {
      refused.push(
        `${nameDisk(disk)} is read-only and can't be erased: agent_erase_skip_read_only leaves such disks out`,
      );
    }
  }
  if (refused.length > 0) throw new AppError('storage_error', refused.join('; '));
  return { disks, skipped };
}

/** A disk and why it was left alone, for the step's result. */
export function leftAlone(disk: BlockDevice, reason: string): SkippedDisk {
  return { ...identityOf(disk), reason };
}

/** By what the disk is known again, for the step's result. */
export function identityOf({ name: device, serial, wwn, model, serials, wwns }: BlockDevice): DiskMarks {
  return { device, serial, wwn, model, serials, wwns };
}

/** Device and serial, as messages name a disk. */
export function nameDisk(disk: Pick<BlockDevice, 'name' | 'serial'>): string {
  return disk.serial === null ? disk.name : `${disk.name} (serial ${disk.serial})`;
}

/**
 * Recognizes what holds data of its own and can be written: no optical drive, RAM disk, volume, nor what shows no
 * capacity.
 */
export function isErasable(device: BlockDevice): boolean {
  return isDisk(device) && device.sizeBytes > 0;
}

/** Recognizes what may hold data of its own: broken and locked disks too, but no empty slot. */
export function isDisk(device: BlockDevice): boolean {
  if (device.type !== 'disk' || isNoDisk(device.name)) return false;
  if (device.sizeBytes > 0 || busesOfDisks.has(device.tran)) return true;
  return !device.removable && !isVirtualMedium(device);
}

/** Why nothing can be done to a disk that may hold data, and what to do. */
function reasonUnusable(disk: BlockDevice): { readonly reason: string; readonly remedy: string } | undefined {
  if (disk.isDetached) {
    const remedy =
      'is an NVMe namespace with no device in this machine, detached or attached to another host: attach it ' +
      "(nvme attach-ns), delete it, or put that name on properties.skip_block_devices if it is not this machine's";
    return { reason: skipReasons.detached, remedy };
  }
  if (disk.sizeBytes > 0) return undefined;
  const remedy = 'has no capacity, being broken or locked: pull it, or put it on properties.skip_block_devices';
  return { reason: skipReasons.noCapacity, remedy };
}

function reasonToSkip(disk: BlockDevice, isSkipped: (disk: BlockDevice) => boolean): string | undefined {
  if (isSkipped(disk)) return skipReasons.skipList;
  return isVirtualMedium(disk) ? skipReasons.virtualMedia : undefined;
}
