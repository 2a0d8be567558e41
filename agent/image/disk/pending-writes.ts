import type { Slot } from '#agent/image/decode/slot-pool.ts';
import type { Disk } from '#agent/image/disk/disk.ts';
import { diskFault } from '#agent/storage/disk-fault.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Writes under way. */
export interface PendingWrites {
  /** Writes bytes `from` to `to` of a slot to `offset` of the disk in the background, and holds the slot meanwhile. */
  add(slot: Slot, from: number, to: number, offset: number): void;
  /** Zeroes a range in the background. */
  zero(zeroing: Promise<void>): void;
  /** Waits until fewer than `count` are under way. @throws AppError `storage_error` when one has failed. */
  fewerThan(count: number): Promise<void>;
  /** @throws AppError `storage_error` when one has failed. */
  throwFailure(): void;
  /** Bytes that are on the disk by now. */
  readonly writtenBytes: () => number;
}

export function createPendingWrites(disk: Disk): PendingWrites {
  const pending = new Set<Promise<void>>();
  const state = { failure: undefined as unknown, written: 0 };
  const throwFailure = (): void => {
    if (state.failure === undefined) return;
    throw new AppError('storage_error', `write to disk ${disk.name}`, {
      cause: state.failure,
      ...diskFault(state.failure, disk.name),
    });
  };
  const watch = (writing: Promise<void>): void => {
    const watched = writing
      .catch((error: unknown) => {
        state.failure ??= error;
      })
      .finally(() => pending.delete(watched));
    pending.add(watched);
  };
  return {
    add: (slot, from, to, offset) => {
      slot.retain();
      const writing = writeFully(disk, slot.bytes.subarray(from, to), offset).then(() => {
        state.written += to - from;
      });
      watch(writing.finally(() => slot.release()));
    },
    zero: watch,
    fewerThan: async (count) => {
      while (pending.size >= count && pending.size > 0) await Promise.race(pending);
      throwFailure();
    },
    throwFailure,
    writtenBytes: () => state.written,
  };
}

/** Writes all of `bytes`, which the kernel may take in parts. */
async function writeFully(disk: Disk, bytes: Uint8Array, offset: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await disk.handle.write(bytes, done, bytes.length - done, offset + done);
    if (bytesWritten === 0)
      throw new AppError('storage_error', `disk ${disk.name} accepted no more data at byte ${offset + done}`);
    done += bytesWritten;
  }
}
