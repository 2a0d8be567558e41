import type { Slot, SlotPool } from '#agent/image/decode/slot-pool.ts';
import type { ClusterDecoder } from '#agent/image/qcow2/cluster-decoder.ts';

/** Unpacked clusters that follow each other on the disk: one write for all. */
export interface PackedRun {
  /**
   * Unpacks a cluster behind those before it, or starts over.
   * @param alone the cluster is wanted by itself: its slot comes back, and is the caller's to release
   */
  add(packed: Buffer, guest: number, alone: boolean): Promise<Slot | undefined>;
  /** No more follow. */
  end(): void;
}

/**
 * @param pool slots that hold a cluster or more
 * @param write gets each run, zero-padded behind its end to the cluster's, and retains the slot while it needs it
 */
export function createPackedRun(
  shape: { readonly clusterBytes: number; readonly virtualBytes: number },
  decoder: ClusterDecoder,
  pool: SlotPool,
  write: (slot: Slot, guest: number) => void,
): PackedRun {
  const { clusterBytes, virtualBytes } = shape;
  let run: { readonly slot: Slot; readonly guest: number } | undefined;
  const end = (): void => {
    if (run === undefined) return;
    write(run.slot, run.guest);
    run.slot.release();
    run = undefined;
  };
  return {
    end,
    add: async (packed, guest, alone) => {
      const follows = run !== undefined && run.guest + run.slot.length === guest;
      const hasRoom = run !== undefined && run.slot.length + clusterBytes <= run.slot.bytes.length;
      if (!follows || !hasRoom || alone) end();
      run ??= { slot: await pool.acquire(), guest };
      const { slot } = run;
      decoder.decode(packed, slot.bytes, slot.length);
      // the last cluster may go on behind the disk
      const bytes = Math.min(clusterBytes, virtualBytes - guest);
      slot.bytes.fill(0, slot.length + bytes, slot.length + clusterBytes);
      slot.length += bytes;
      if (!alone) return undefined;
      run = undefined;
      return slot;
    },
  };
}
