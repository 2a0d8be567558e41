import { createHash } from 'node:crypto';
import type { ClusterDecoder } from '#agent/image/qcow2/cluster-decoder.ts';
import { createExtentList, type Extent } from '#agent/image/qcow2/extents.ts';
import type { Qcow2Header } from '#agent/image/qcow2/header.ts';
import { createHoleList } from '#agent/image/qcow2/holes.ts';
import { type DiskMap, l1Bytes, readL1, readL2 } from '#agent/image/qcow2/tables.ts';
import { type Piece, type ReadPiece, readPieces } from '#agent/image/range-reader.ts';

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
 * The first bytes of the disk that the image stands for, read by ranges.
 * @returns `undefined` when no server gives ranges.
 */
export async function readDiskHead(
  header: Qcow2Header,
  map: DiskMap,
  read: ReadPiece,
  decoder: ClusterDecoder,
  bytes: number,
): Promise<Buffer | undefined> {
  const head = Buffer.alloc(Math.min(bytes, header.virtualBytes));
  const cluster = Buffer.alloc(header.clusterBytes);
  const pieces: (Extent & Piece)[] = [];
  for (let index = 0; index < map.extents.length(); index += 1) {
    const extent = map.extents.at(index);
    if (extent.guest >= head.length) continue;
    const wanted = extent.packed ? extent.bytes : Math.min(extent.bytes, head.length - extent.guest);
    pieces.push({ ...extent, offset: extent.host, bytes: wanted });
  }
  const hasRanges = await readPieces(read, pieces, ({ packed, guest }, got) => {
    if (packed) {
      decoder.decode(got, cluster, 0);
      cluster.copy(head, guest);
    } else {
      got.copy(head, guest);
    }
  });
  return hasRanges ? head : undefined;
}
