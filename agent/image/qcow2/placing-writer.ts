import { createSlotPool, type Slot, slotBytes } from '#agent/image/decode/slot-pool.ts';
import type { Disk } from '#agent/image/disk/disk.ts';
import { createPendingWrites } from '#agent/image/disk/pending-writes.ts';
import type { ClusterDecoder } from '#agent/image/qcow2/cluster-decoder.ts';
import { createPackedRun } from '#agent/image/qcow2/packed-run.ts';

/** Writes pieces of an image to their places in any order. What goes to the first MiB is kept back. */
export interface PlacingWriter {
  /** Writes bytes of a slot; the slot is held until they are written. */
  place(slot: Slot, from: number, bytes: number, guest: number): Promise<void>;
  /** Unpacks a cluster and writes it. */
  placePacked(packed: Buffer, guest: number): Promise<void>;
  /** Makes a range read as zeros. */
  zero(guest: number, bytes: number): Promise<void>;
  /** Waits until all is written and on stable storage. @throws AppError `storage_error`. */
  flush(): Promise<void>;
  /** The first MiB, as far as it has been placed. */
  head(): Buffer;
  writeHead(): Promise<void>;
  readonly sectorBytes: number;
  readonly writtenBytes: () => number;
}

interface Shape {
  readonly clusterBytes: number;
  readonly virtualBytes: number;
}

const outputSlots = 8;
const maxWrites = 16;
/** Smaller ranges of zeros are written: a call to zero costs milliseconds, whatever its length. */
const minZeroCallBytes = slotBytes;
/** For the reason that the raw writer's window has. */
const maxZeroCallBytes = 64 * slotBytes;

export async function createPlacingWriter(
  disk: Disk,
  shape: Shape,
  decoder: ClusterDecoder,
  signal: AbortSignal,
): Promise<PlacingWriter> {
  const { clusterBytes, virtualBytes } = shape;
  const writes = createPendingWrites(disk);
  const output = createSlotPool(outputSlots, signal, Math.max(slotBytes, clusterBytes));
  const own = createSlotPool(2, signal);
  const [head, zeros] = [await own.acquire(), await own.acquire()];
  const headBytes = Math.min(slotBytes, virtualBytes);
  const placePadded = async (bytes: Buffer, guest: number): Promise<void> => {
    const slot = await output.acquire();
    bytes.copy(slot.bytes);
    const padded = roundUp(bytes.length, disk.sectorBytes);
    slot.bytes.fill(0, bytes.length, padded);
    writes.add(slot, 0, padded, guest);
    slot.release();
  };
  const place: PlacingWriter['place'] = async (slot, from, bytes, guest) => {
    await writes.fewerThan(maxWrites);
    const kept = Math.max(0, Math.min(bytes, headBytes - guest));
    if (kept > 0) slot.bytes.copy(head.bytes, guest, from, from + kept);
    if (kept === bytes) return;
    const [start, end] = [from + kept, from + bytes];
    // direct I/O writes whole sectors; the slot itself can't be padded, as another thread is hashing it
    if ((end - start) % disk.sectorBytes !== 0) await placePadded(slot.bytes.subarray(start, end), guest + kept);
    else writes.add(slot, start, end, guest + kept);
  };
  const packed = createPackedRun(shape, decoder, output, (slot, guest) => {
    writes.add(slot, 0, roundUp(slot.length, disk.sectorBytes), guest);
  });
  const zero: PlacingWriter['zero'] = async (guest, bytes) => {
    const end = roundUp(guest + bytes, disk.sectorBytes);
    for (let at = Math.max(guest, headBytes); at < end; ) {
      signal.throwIfAborted();
      const call = disk.zeroRange !== undefined && end - at >= minZeroCallBytes;
      const length = Math.min(end - at, call ? maxZeroCallBytes : slotBytes);
      await writes.fewerThan(maxWrites);
      if (call) await disk.zeroRange(at, length);
      else writes.add(zeros, 0, length, at);
      at += length;
    }
  };
  return {
    place,
    placePacked: async (bytes, guest) => {
      await writes.fewerThan(maxWrites);
      const slot = await packed.add(bytes, guest, guest < headBytes);
      if (slot === undefined) return;
      await place(slot, 0, slot.length, guest);
      slot.release();
    },
    zero,
    flush: async () => {
      packed.end();
      await writes.fewerThan(1);
      await disk.handle.datasync();
    },
    head: () => head.bytes.subarray(0, headBytes),
    writeHead: async () => {
      writes.add(head, 0, roundUp(headBytes, disk.sectorBytes), 0);
      await writes.fewerThan(1);
      await disk.handle.datasync();
    },
    sectorBytes: disk.sectorBytes,
    writtenBytes: writes.writtenBytes,
  };
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}
