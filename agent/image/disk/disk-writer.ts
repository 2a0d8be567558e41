import { type Slot, slotBytes } from '#agent/image/decode/slot-pool.ts';
import type { Disk } from '#agent/image/disk/disk.ts';
import { createPendingWrites } from '#agent/image/disk/pending-writes.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Smaller holes are written: one request of 1 MiB beats two halves around them. */
const granuleBytes = 64 * 1024;
const zeros = Buffer.alloc(granuleBytes);
/**
 * How much is zeroed at once: a call costs milliseconds, whatever its length. Not more, because the kernel ends a call
 * that has begun even when we are killed, and what it zeros late would be the next image.
 */
const zeroWindowBytes = 64 * slotBytes;

export interface DiskWriter {
  /**
   * Writes a slot at `offset`, a multiple of 1 MiB, in the background; takes over the caller's hold on it. The first
   * slot is kept back until `writeFirstSlot`.
   * @throws AppError `storage_error` when the disk is too small, or an earlier write failed.
   */
  write(slot: Slot, offset: number): Promise<void>;
  /** Waits until all is written and on stable storage. */
  flush(): Promise<void>;
  /** The beginning of the image, which makes the disk bootable; `undefined` before the first write. */
  firstSlot(): Slot | undefined;
  writeFirstSlot(): Promise<void>;
  readonly writtenBytes: () => number;
}

/**
 * @param imageBytes the image's length where it is known: nothing behind it is zeroed
 */
export function createDiskWriter(disk: Disk, imageBytes: number | undefined): DiskWriter {
  const writes = createPendingWrites(disk);
  const state = { first: undefined as Slot | undefined, zeroedTo: 0 };
  /** On rotational disks: whole slots of zeros that are not on the disk yet. */
  const hole = { from: 0, to: 0 };
  const skipsHoles = disk.zeroRange !== undefined && !disk.rotational;
  const end = Math.min(disk.sizeBytes, roundUp(imageBytes ?? disk.sizeBytes, disk.sectorBytes));

  const zeroAhead = async (from: number, to: number): Promise<void> => {
    if (to <= state.zeroedTo || disk.zeroRange === undefined) return;
    const start = Math.max(from, state.zeroedTo);
    state.zeroedTo = Math.max(to, Math.min(start + zeroWindowBytes, end));
    await disk.zeroRange(start, state.zeroedTo - start);
  };
  const zeroHole = (): void => {
    const { from, to } = hole;
    hole.from = to;
    if (to > from && disk.zeroRange) writes.zero(disk.zeroRange(from, to - from));
  };
  /** Whether the slot became part of a hole. */
  const takesHole = (slot: Slot, length: number, offset: number): boolean => {
    if (disk.zeroRange === undefined || !disk.rotational) return false;
    const isHole = length === slotBytes && isZero(slot.bytes);
    if (!isHole || offset !== hole.to || offset - hole.from >= zeroWindowBytes) zeroHole();
    if (!isHole) return false;
    if (hole.to !== offset || hole.from === hole.to) hole.from = offset;
    hole.to = offset + length;
    return true;
  };

  return {
    write: async (slot, offset) => {
      writes.throwFailure();
      const length = padToSector(slot, disk.sectorBytes);
      if (offset + length > disk.sizeBytes) throw tooSmall(disk, imageBytes);
      if (offset === 0) {
        state.first = slot;
        return;
      }
      if (!takesHole(slot, length, offset)) {
        for (const run of splitRuns(slot.bytes.subarray(0, length), skipsHoles)) {
          if (run.zero) await zeroAhead(offset + run.from, offset + run.to);
          else writes.add(slot, run.from, run.to, offset + run.from);
        }
      }
      slot.release();
    },
    flush: async () => {
      zeroHole();
      await writes.fewerThan(1);
      await disk.handle.datasync();
    },
    firstSlot: () => state.first,
    writeFirstSlot: async () => {
      if (state.first === undefined) return;
      writes.add(state.first, 0, padToSector(state.first, disk.sectorBytes), 0);
      await writes.fewerThan(1);
      await disk.handle.datasync();
    },
    writtenBytes: writes.writtenBytes,
  };
}

/** The error for a disk that can't take the image; both sizes in bytes. */
export function tooSmall(disk: Pick<Disk, 'name' | 'sizeBytes'>, imageBytes: number | undefined): AppError {
  const needed = imageBytes === undefined ? 'more' : `${imageBytes} bytes`;
  return new AppError(
    'storage_error',
    `disk ${disk.name} is too small: it has ${disk.sizeBytes} bytes, the image needs ${needed}`,
    { situation: 'image_too_large', subject: disk.name },
  );
}

interface Run {
  readonly from: number;
  readonly to: number;
  readonly zero: boolean;
}

/** Splits bytes into runs of data and of zeros, in steps of 64 KiB; one run of data when holes are not skipped. */
export function splitRuns(bytes: Buffer, skipHoles: boolean): readonly Run[] {
  if (!skipHoles) return [{ from: 0, to: bytes.length, zero: false }];
  const runs: Run[] = [];
  for (let from = 0; from < bytes.length; from += granuleBytes) {
    const to = Math.min(from + granuleBytes, bytes.length);
    const zero = isZero(bytes.subarray(from, to));
    const last = runs.at(-1);
    if (last?.zero === zero) runs[runs.length - 1] = { ...last, to };
    else runs.push({ from, to, zero });
  }
  return runs;
}

function isZero(bytes: Buffer): boolean {
  for (let from = 0; from < bytes.length; from += granuleBytes) {
    const piece = bytes.subarray(from, from + granuleBytes);
    if (!piece.equals(zeros.subarray(0, piece.length))) return false;
  }
  return true;
}

/** Direct I/O writes whole sectors: the last slot is filled up with zeros. */
function padToSector(slot: Slot, sectorBytes: number): number {
  const length = roundUp(slot.length, sectorBytes);
  slot.bytes.fill(0, slot.length, length);
  return length;
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}
