import type { BlockDevice } from '#agent/storage/block-device.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type SkippedDisk, skipReasons } from '#shared/wire/erase-result.ts';

export interface ChosenDisks {
  readonly disks: readonly BlockDevice[];
  readonly skipped: readonly SkippedDisk[];
}

/** Label of the medium by which a BMC hands the agent its parameters (agent-protocol.md §2.6). */
const virtualMediaLabel = 'ir-vfd-dev';

/**
 * Which disks to erase: pure. Removable ones too: SD cards and disks in hot-plug bays say so of themselves, and hold what
 * the last tenant wrote. What is no disk at all (optical drives, RAM disks, RAID volumes, which go with their
 * members) is not mentioned.
 * @param labels file system labels by device name
 * @throws AppError `storage_error` for a read-only disk, unless such are to be skipped: before anything is touched.
 */
export function chooseDisks(
  devices: readonly BlockDevice[],
  isSkipped: (disk: BlockDevice) => boolean,
  options: { readonly skipReadOnly: boolean; readonly labels?: ReadonlyMap<string, string> },
): ChosenDisks {
  const disks: BlockDevice[] = [];
  const skipped: SkippedDisk[] = [];
  for (const disk of devices.filter(isErasable)) {
    const reason = reasonToSkip(disk, isSkipped, options.labels);
    if (reason !== undefined) skipped.push(leftAlone(disk, reason));
    else if (!disk.readOnly) disks.push(disk);
    else if (options.skipReadOnly) skipped.push(leftAlone(disk, skipReasons.readOnly));
    else {
      throw new AppError(
        'storage_error',
        `${nameDisk(disk)} is read-only and can't be erased: agent_erase_skip_read_only leaves such disks out`,
      );
    }
  }
  return { disks, skipped };
}

/** A disk and why it was left alone, for the step's result. */
export function leftAlone(disk: BlockDevice, reason: string): SkippedDisk {
  const { name: device, serial, wwn, model } = disk;
  return { device, serial, wwn, model, reason };
}

/** Device and serial, as messages name a disk. */
export function nameDisk(disk: Pick<BlockDevice, 'name' | 'serial'>): string {
  return disk.serial === null ? disk.name : `${disk.name} (serial ${disk.serial})`;
}

/** What holds data of its own: no optical drive, RAM disk, volume, nor an empty slot. */
export function isErasable(device: BlockDevice): boolean {
  return device.type === 'disk' && !/^\/dev\/(z?ram|fd|nbd)\d/.test(device.name) && device.sizeBytes > 0;
}

function reasonToSkip(
  disk: BlockDevice,
  isSkipped: (disk: BlockDevice) => boolean,
  labels: ReadonlyMap<string, string> = new Map(),
): string | undefined {
  if (isSkipped(disk)) return skipReasons.skipList;
  const names = [disk.name, ...disk.partitions.map(({ name }) => name)];
  if (names.some((name) => labels.get(name)?.toLowerCase() === virtualMediaLabel)) return skipReasons.virtualMedia;
  // what BMCs plug in calls itself so: "AMI Virtual HDisk0", "iDRAC Virtual Floppy", "Linux File-Stor Gadget"
  const isVirtual = disk.tran === 'usb' && /virtual|file-stor gadget/i.test(`${disk.vendor ?? ''} ${disk.model ?? ''}`);
  return isVirtual ? skipReasons.virtualMedia : undefined;
}
