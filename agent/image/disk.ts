import { constants, type FileHandle, open } from 'node:fs/promises';
import { AppError } from '#shared/errors/app-error.ts';

/** A disk open for writing around the page cache. */
export interface Disk {
  readonly name: string;
  readonly handle: FileHandle;
  readonly sizeBytes: number;
  readonly sectorBytes: number;
  /**
   * Makes a range read as zeros without sending them; absent where the device can't.
   * Offset and length are multiples of the sector size.
   */
  readonly zeroRange?: (offset: number, length: number) => Promise<void>;
}

/**
 * Opens a device for direct I/O and for ourselves alone: with O_EXCL the kernel refuses a disk that is mounted, or
 * part of a RAID or LVM volume, even when it became so after we looked.
 * @throws AppError `not_found` (no such disk), `storage_error` (in use, read-only…).
 */
export async function openExclusive(name: string): Promise<FileHandle> {
  try {
    return await open(name, constants.O_RDWR | constants.O_DIRECT | constants.O_EXCL);
  } catch (cause) {
    switch ((cause as NodeJS.ErrnoException).code) {
      case 'ENOENT':
      case 'ENXIO':
      case 'ENODEV':
        throw new AppError('not_found', `disk ${name} is missing`, { cause });
      case 'EBUSY':
        throw new AppError('storage_error', `disk ${name} is mounted or otherwise in use`, { cause });
      default:
        throw new AppError('storage_error', `open disk ${name} for writing`, { cause });
    }
  }
}
