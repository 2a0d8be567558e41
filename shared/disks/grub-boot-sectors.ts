import { AppError } from '#shared/errors/app-error.ts';

/**
 * Sizes for writing what `grub-bios-setup` would, without a block device: offsets are those of GRUB 2's
 * `include/grub/i386/pc/boot.h` (`GRUB_BOOT_MACHINE_KERNEL_SECTOR` and so on), stable since GRUB 2.00.
 */
const sectorSize = 512;
const bootCodeSize = 440;
const kernelSectorOffset = 0x5c;
const bootDriveOffset = 0x64;
const driveCheckOffset = 0x66;
/** Start (8 bytes), length and segment (2 bytes each) of the core's blocks, at the end of its first sector. */
const blockListOffset = sectorSize - 12;

/**
 * Returns the boot code for the first 440 bytes of the disk: loads one sector from `coreSector` and jumps to it.
 * @param bootImage the content of GRUB's `boot.img`
 */
export function bootCode(bootImage: Uint8Array, coreSector: number): Uint8Array {
  if (bootImage.length !== sectorSize) {
    throw new AppError('internal', `boot.img of GRUB has ${bootImage.length} bytes, not ${sectorSize}`);
  }
  const code = Buffer.from(bootImage.subarray(0, bootCodeSize));
  code.writeBigUInt64LE(BigInt(coreSector), kernelSectorOffset);
  code[bootDriveOffset] = 0xff; // the drive that the BIOS names
  code.fill(0x90, driveCheckOffset, driveCheckOffset + 2); // as for any hard disk: don't doubt the BIOS's drive number
  return code;
}

/**
 * Returns GRUB's core as it lies on the disk at `coreSector`: its first sector says where the rest is.
 * @param core the content of `core.img`
 * @param room bytes of the partition, or the gap, that it goes to
 * @throws AppError `storage_error` when it does not fit
 */
export function placedCore(core: Uint8Array, coreSector: number, room: number): Uint8Array {
  if (core.length > room)
    throw new AppError('storage_error', `core.img has ${core.length} bytes, and the room for it ${room}`);
  const placed = Buffer.from(core);
  placed.writeBigUInt64LE(BigInt(coreSector + 1), blockListOffset);
  return placed;
}
