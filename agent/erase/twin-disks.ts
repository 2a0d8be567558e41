import { nameDisk } from '#agent/erase/choose-disks.ts';
import { nvmeController } from '#agent/erase/nvme.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The same for what is one piece of hardware: namespaces of an NVMe subsystem, which a format or sanitize may hit all at
 * once, and the paths to a disk that the kernel lists twice (nothing joins paths in the ramdisk).
 */
export function diskKey(disk: BlockDevice): string {
  if (disk.tran === 'nvme' || /nvme\d+n\d+$/.test(disk.name)) return disk.nvmeSubsystem ?? nvmeController(disk.name);
  return identityOf(disk) ?? disk.name;
}

/** Whether a disk is one piece of hardware with another that must stay as it is. */
export function sharesHardware(disk: BlockDevice, kept: readonly BlockDevice[]): boolean {
  return kept.some((each) => diskKey(each) === diskKey(disk));
}

/**
 * Refuses to write to a disk that is also one to be kept, by another path: the skip list may name a path only.
 * @throws AppError `storage_error` naming both.
 */
export function requireNoTwins(disks: readonly BlockDevice[], kept: readonly BlockDevice[]): void {
  for (const disk of disks) {
    const twin = kept.find((each) => isSameDisk(each, disk));
    if (!twin) continue;
    throw new AppError(
      'storage_error',
      `${nameDisk(disk)} would be erased and is the same disk as ${nameDisk(twin)}, which is kept, by another ` +
        'path: name it by serial or wwn, which hold for all of its paths',
    );
  }
}

function isSameDisk(one: BlockDevice, other: BlockDevice): boolean {
  const wwns = [wwnOf(one), wwnOf(other)];
  if (wwns.every((wwn) => wwn !== null)) return wwns[0] === wwns[1];
  const serial = serialKey(one);
  return serial !== undefined && serial === serialKey(other);
}

function identityOf(disk: BlockDevice): string | undefined {
  return wwnOf(disk) ?? serialKey(disk);
}

/** With its extension: without, the volumes of a disk array have one WWN. */
function wwnOf(disk: BlockDevice): string | null {
  return (disk.wwnWithExtension ?? disk.wwn)?.toLowerCase() ?? null;
}

/** `undefined` where a serial number says too little: the slots of a card reader have the reader's. */
function serialKey({ serial, model, sizeBytes, tran }: BlockDevice): string | undefined {
  return serial === null || tran === 'usb' ? undefined : JSON.stringify([serial, model, sizeBytes]);
}
