import { constants, type FileHandle, open, readFile, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { startZeroing } from '#agent/image/disk/zeroing.ts';
import { diskFault } from '#agent/storage/disk-fault.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
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
  /** The disk's heads move: what is zeroed ahead and then written costs twice the time. */
  readonly rotational: boolean;
  /** Waits until what has begun is finished: nothing of this write comes after the next. */
  readonly close: () => Promise<void>;
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
        throw new AppError('not_found', `disk ${name} is missing`, { cause, ...diskFault(cause, name) });
      case 'EBUSY':
        throw new AppError('storage_error', `disk ${name} is mounted or otherwise in use`, {
          cause,
          ...diskFault(cause, name),
        });
      default:
        throw new AppError('storage_error', `open disk ${name} for writing`, { cause, ...diskFault(cause, name) });
    }
  }
}

/** Opens a disk for the image writer; `signal` stops a zeroing under way. @throws AppError as `openExclusive`. */
export async function openDisk(
  device: Pick<BlockDevice, 'name' | 'sizeBytes' | 'logicalSectorBytes'>,
  signal?: AbortSignal,
): Promise<Disk> {
  const handle = await openExclusive(device.name);
  const disk = {
    name: device.name,
    handle,
    close: () => handle.close(),
    sizeBytes: device.sizeBytes,
    sectorBytes: device.logicalSectorBytes,
    rotational: (await readQueue(device.name, 'rotational')) !== 0,
  };
  // without the device's help the kernel would write the zeros, and the data over them: twice the work
  if ((await readQueue(device.name, 'write_zeroes_max_bytes')) === 0) return disk;
  const zeroing = startZeroing(device.name, signal);
  const close = async (): Promise<void> => {
    await zeroing.end();
    await handle.close();
  };
  return { ...disk, zeroRange: zeroing.zero, close };
}

/** A number of a disk's queue, as the kernel has it; a partition has its disk's. */
async function readQueue(name: string, file: 'rotational' | 'write_zeroes_max_bytes'): Promise<number> {
  const folder = await realpath(`/sys/class/block/${basename(name)}`);
  const isPartition = await readFile(join(folder, 'partition'), 'utf8').then(
    () => true,
    () => false,
  );
  return Number(await readFile(join(folder, isPartition ? '..' : '.', 'queue', file), 'utf8'));
}
