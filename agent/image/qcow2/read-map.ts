import { createHash } from 'node:crypto';
import { type Piece, type ReadPiece, readPieces } from '#agent/image/fetch/range-reader.ts';
import type { ClusterDecoder } from '#agent/image/qcow2/cluster-decoder.ts';
import { createExtentList, type Extent } from '#agent/image/qcow2/extents.ts';
import type { Qcow2Header } from '#agent/image/qcow2/header.ts';
import { createHoleList } from '#agent/image/qcow2/holes.ts';
import { type DiskMap, l1Bytes, readL1, readL2 } from '#agent/image/qcow2/tables.ts';

/** A table with what it held: the bytes that are hashed must be those that were read. */
export interface SeenTable extends Piece {
  readonly digest: string;
}

export interface ReadMap {
  readonly map: DiskMap;
  /** In the order of the file. */
  readonly tables: readonly SeenTable[];
}

export function createDiskMap(): DiskMap {
  return { extents: createExtentList(), holes: createHoleList() };
}

/** Enough to distinguish two versions of a table. */
export function tableDigest(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}

/**
 * Reads all tables by ranges, before any of the data.
 * @returns `undefined` when no server gives ranges.
 * @throws AppError as `readL1` and `readL2`.
 */
export async function readMap(header: Qcow2Header, read: ReadPiece, fileBytes: number): Promise<ReadMap | undefined> {
  const l1Piece = { offset: header.l1Offset, bytes: l1Bytes(header) };
  const l1 = await read(l1Piece);
  if (l1 === undefined) return undefined;
  const map = createDiskMap();
  const tables: SeenTable[] = [{ ...l1Piece, digest: tableDigest(l1) }];
  const wanted = readL1(header, l1, fileBytes, map).map((table) => ({ ...table, bytes: header.clusterBytes }));
  const hasRanges = await readPieces(read, wanted, (table, bytes) => {
    tables.push({ offset: table.offset, bytes: table.bytes, digest: tableDigest(bytes) });
    readL2(header, table, bytes, fileBytes, map);
  });
  if (!hasRanges) return undefined;
  map.extents.sort(0);
  return { map, tables: tables.sort((a, b) => a.offset - b.offset) };
}

/**
 * The same of the tables alone that speak of the disk's first `bytes`.
 * @returns `undefined` when `read` can't reach one of them.
 */
export async function readHeadMap(
  header: Qcow2Header,
  read: ReadPiece,
  fileBytes: number,
  bytes: number,
): Promise<DiskMap | undefined> {
  const l1 = await read({ offset: header.l1Offset, bytes: l1Bytes(header) });
  if (l1 === undefined) return undefined;
  const map = createDiskMap();
  for (const table of readL1(header, l1, fileBytes, map).filter(({ guest }) => guest < bytes)) {
    const l2 = await read({ offset: table.offset, bytes: header.clusterBytes });
    if (l2 === undefined) return undefined;
    readL2(header, table, l2, fileBytes, map);
  }
  map.extents.sort(0);
  return map;
}

/**
 * A piece of the disk that the image stands for, cut at the disk's end; read by ranges.
 * @returns `undefined` when no server gives ranges.
 */
export async function readDisk(
  header: Qcow2Header,
  map: DiskMap,
  read: ReadPiece,
  decoder: ClusterDecoder,
  wanted: Piece,
): Promise<Buffer | undefined> {
  const end = Math.min(wanted.offset + wanted.bytes, header.virtualBytes);
  const disk = Buffer.alloc(Math.max(0, end - wanted.offset));
  const cluster = Buffer.alloc(header.clusterBytes);
  const pieces: (Extent & Piece)[] = [];
  for (let index = 0; index < map.extents.length(); index += 1) {
    const extent = map.extents.at(index);
    const behind = extent.guest + (extent.packed ? header.clusterBytes : extent.bytes);
    if (extent.guest >= end || behind <= wanted.offset) continue;
    if (extent.packed) {
      pieces.push({ ...extent, offset: extent.host, bytes: extent.bytes });
    } else {
      const skipped = Math.max(0, wanted.offset - extent.guest);
      const guest = extent.guest + skipped;
      pieces.push({ ...extent, guest, offset: extent.host + skipped, bytes: Math.min(behind, end) - guest });
    }
  }
  const hasRanges = await readPieces(read, pieces, ({ packed, guest }, got) => {
    const at = guest - wanted.offset;
    if (packed) decoder.decode(got, cluster, 0);
    (packed ? cluster : got).copy(disk, Math.max(0, at), Math.max(0, -at));
  });
  return hasRanges ? disk : undefined;
}
