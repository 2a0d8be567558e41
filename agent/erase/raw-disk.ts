import type { FileHandle } from 'node:fs/promises';
import { createSlotPool, type SlotPool } from '#agent/image/decode/slot-pool.ts';
import { openExclusive } from '#agent/image/disk/disk.ts';
import { diskFault } from '#agent/storage/disk-fault.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A disk open past the page cache: what is read comes from the disk, not from what was last written to it. */
export interface RawDisk {
  readonly name: string;
  readonly sizeBytes: number;
  /** Fills a part of `buffer`, which must come from a slot pool. @throws AppError `storage_error` with the place. */
  read(bytes: Buffer, offset: number): Promise<void>;
  write(bytes: Buffer, offset: number): Promise<void>;
  /** Onto stable storage. */
  flush(): Promise<void>;
}

/**
 * Opens a disk for `use` alone.
 * @throws AppError `not_found`, `storage_error` (in use, read-only…), and what `use` throws.
 */
export async function withRawDisk<T>(
  disk: { readonly name: string; readonly sizeBytes: number },
  use: (raw: RawDisk, pool: SlotPool) => Promise<T>,
  openDevice: (name: string) => Promise<FileHandle> = openExclusive,
): Promise<T> {
  const handle = await openDevice(disk.name);
  try {
    return await use(createRawDisk(disk, handle), createSlotPool(1));
  } finally {
    await handle.close();
  }
}

function createRawDisk(disk: { readonly name: string; readonly sizeBytes: number }, handle: FileHandle): RawDisk {
  const act = async (verb: 'read' | 'write', bytes: Buffer, offset: number): Promise<void> => {
    let done = 0;
    while (done < bytes.length) {
      const count = await transfer(verb, done, bytes, offset);
      if (count === 0) throw new AppError('storage_error', `${disk.name} ends at byte ${offset + done}`);
      done += count;
    }
  };
  const transfer = async (verb: 'read' | 'write', done: number, bytes: Buffer, offset: number): Promise<number> => {
    try {
      const length = bytes.length - done;
      return verb === 'read'
        ? (await handle.read(bytes, done, length, offset + done)).bytesRead
        : (await handle.write(bytes, done, length, offset + done)).bytesWritten;
    } catch (cause) {
      throw new AppError('storage_error', `${verb} ${disk.name} at byte ${offset + done}`, {
        cause,
        ...diskFault(cause, disk.name),
      });
    }
  };
  return {
    ...disk,
    read: (bytes, offset) => act('read', bytes, offset),
    write: (bytes, offset) => act('write', bytes, offset),
    flush: async () => {
      try {
        await handle.datasync();
      } catch (cause) {
        throw new AppError('storage_error', `flush ${disk.name} to stable storage`, {
          cause,
          ...diskFault(cause, disk.name),
        });
      }
    },
  };
}
