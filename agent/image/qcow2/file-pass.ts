import type { Slot } from '#agent/image/decode/slot-pool.ts';
import { brokenQcow2, type Qcow2Header } from '#agent/image/qcow2/header.ts';
import type { PlacingWriter } from '#agent/image/qcow2/placing-writer.ts';
import { createDiskMap, type ReadMap, tableDigest } from '#agent/image/qcow2/read-map.ts';
import { createTableWatch, type TableWatch, tableBehindError } from '#agent/image/qcow2/table-watch.ts';
import { type DiskMap, l1Bytes, readL1, readL2 } from '#agent/image/qcow2/tables.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The file goes by once, from its beginning to its end, and each cluster to its place on the disk. */
export interface FilePass {
  /** Takes over the caller's hold on the slot. */
  take(slot: Slot, offset: number): Promise<void>;
  /** Does what the file's end leaves to do. @throws AppError `image_error` when something has not passed. */
  finish(): Promise<void>;
}

/** @param known the tables, where they could be read beforehand; else they are taken as they pass */
export function createFilePass(
  header: Qcow2Header,
  known: ReadMap | undefined,
  fileBytes: number,
  writer: PlacingWriter,
): FilePass {
  const map = known?.map ?? createDiskMap();
  const state = { cursor: 0, slotStart: 0, sorted: true };
  const watch = createTableWatch();
  if (known) expectSame(watch, known);
  else expectFirst(watch, header, fileBytes, map, state);
  /** A compressed cluster whose bytes are in two slots or more; at most a few at a time. */
  const partial = new Map<number, Buffer>();

  const takePacked = async (slot: Slot, offset: number, index: number): Promise<void> => {
    const { host, bytes, guest } = map.extents.at(index);
    const [from, to] = [Math.max(host, offset), Math.min(host + bytes, offset + slot.length)];
    const part = slot.bytes.subarray(from - offset, to - offset);
    if (part.length === bytes) {
      await writer.placePacked(part, guest);
      return;
    }
    const whole = partial.get(host) ?? Buffer.alloc(bytes);
    part.copy(whole, from - host);
    partial.set(host, whole);
    if (to < host + bytes) return;
    partial.delete(host);
    await writer.placePacked(whole, guest);
  };
  return {
    take: async (slot, offset) => {
      state.slotStart = offset;
      const end = offset + slot.length;
      watch.take(slot.bytes.subarray(0, slot.length), offset);
      if (!state.sorted) map.extents.sort(state.cursor);
      state.sorted = true;
      for (let index = state.cursor; index < map.extents.length(); index += 1) {
        const { host, bytes, guest, packed } = map.extents.at(index);
        if (host >= end) break;
        const [from, to] = [Math.max(host, offset), Math.min(host + bytes, end)];
        if (to > from && packed) await takePacked(slot, offset, index);
        else if (to > from) await writer.place(slot, from - offset, to - from, guest + (from - host));
        if (index === state.cursor && host + bytes <= end) state.cursor += 1;
      }
      slot.release();
    },
    finish: async () => {
      const missing = watch.next();
      if (missing !== undefined) throw brokenQcow2(`its table at byte ${missing} is behind its end`);
      for (let index = state.cursor; index < map.extents.length(); index += 1) {
        await finishExtent(header, map, index, fileBytes, writer);
      }
      if (known) return;
      for (const { guest, bytes } of map.holes) await writer.zero(guest, bytes);
    },
  };
}

/** The file may end within its last cluster: what is missing of it reads as zeros. */
async function finishExtent(
  header: Qcow2Header,
  map: DiskMap,
  index: number,
  fileBytes: number,
  writer: PlacingWriter,
): Promise<void> {
  const { host, bytes, guest, packed } = map.extents.at(index);
  const end = host + bytes;
  if (packed || end > Math.ceil(fileBytes / header.clusterBytes) * header.clusterBytes) {
    throw brokenQcow2(`a cluster at byte ${host} is behind its end`);
  }
  const there = Math.max(0, Math.min(fileBytes, end) - host);
  const from = Math.ceil(there / writer.sectorBytes) * writer.sectorBytes;
  if (from < bytes) await writer.zero(guest + from, bytes - from);
}

/** Refuses other bytes than those that were read by ranges before, for these are what the checksum covers. */
function expectSame(watch: TableWatch, known: ReadMap): void {
  watch.expect(
    known.tables.map(({ offset, bytes, digest }) => ({
      offset,
      bytes,
      done: (table: Buffer) => {
        if (tableDigest(table) === digest) return;
        throw new AppError('image_error', 'the qcow2 image changed while it was being downloaded');
      },
    })),
  );
}

function expectFirst(
  watch: TableWatch,
  header: Qcow2Header,
  fileBytes: number,
  map: DiskMap,
  state: { cursor: number; slotStart: number; sorted: boolean },
): void {
  const takeL2 = (table: Parameters<typeof readL2>[1], bytes: Buffer): void => {
    const before = map.extents.length();
    readL2(header, table, bytes, fileBytes, map);
    for (let index = before; index < map.extents.length(); index += 1) {
      const { host } = map.extents.at(index);
      if (host < state.slotStart) throw tableBehindError(`the table for its data at byte ${host}`);
    }
    state.sorted = false;
  };
  const takeL1 = (bytes: Buffer): void => {
    const tables = readL1(header, bytes, fileBytes, map);
    const watched = tables.map((table) => ({
      offset: table.offset,
      bytes: header.clusterBytes,
      done: (l2: Buffer) => takeL2(table, l2),
    }));
    watch.expect(watched);
  };
  watch.expect([{ offset: header.l1Offset, bytes: l1Bytes(header), done: takeL1 }]);
}
