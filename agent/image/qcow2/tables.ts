import type { ExtentList } from '#agent/image/qcow2/extents.ts';
import { brokenQcow2, type Qcow2Header } from '#agent/image/qcow2/header.ts';
import type { HoleList } from '#agent/image/qcow2/holes.ts';

/** Where the pieces of the disk are, as far as the tables were read. */
export interface DiskMap {
  readonly extents: ExtentList;
  readonly holes: HoleList;
}

/** A table of the second level: it maps `guestBytes` of the disk from `guest` on. */
export interface L2Table {
  readonly offset: number;
  readonly guest: number;
}

const entryBytes = 8;

/** Bytes of the disk that one table of the second level maps. */
function l2Span(header: Qcow2Header): number {
  return (header.clusterBytes / entryBytes) * header.clusterBytes;
}

export function l1Bytes(header: Qcow2Header): number {
  return header.l1Entries * entryBytes;
}

/**
 * Reads the table of the first level: the second-level tables in the order of the file. What no table maps becomes
 * holes.
 * @param l1 `l1Bytes` bytes
 * @param fileBytes of the image as served
 * @throws AppError `image_error` for tables outside the file, or that share bytes.
 */
export function readL1(header: Qcow2Header, l1: Buffer, fileBytes: number, map: DiskMap): readonly L2Table[] {
  const span = l2Span(header);
  const tables: L2Table[] = [];
  for (let index = 0; index < header.l1Entries; index += 1) {
    const guest = index * span;
    const high = l1.readUInt32BE(index * entryBytes);
    const low = l1.readUInt32BE(index * entryBytes + 4);
    if ((high & 0x7f_00_00_00) !== 0 || (low & 0x1ff) !== 0)
      throw brokenQcow2(`entry ${index} of its first table is none`);
    const offset = hostOffset(high, low);
    if (offset === 0) map.holes.add(guest, Math.min(span, header.virtualBytes - guest));
    else tables.push({ offset: checkTable(header, offset, fileBytes), guest });
  }
  tables.sort((a, b) => a.offset - b.offset);
  const duplicate = tables.find(({ offset }, index) => index > 0 && tables[index - 1]?.offset === offset);
  if (duplicate) throw brokenQcow2(`two entries of its first table name the table at ${duplicate.offset}`);
  return tables;
}

function checkTable(header: Qcow2Header, offset: number, fileBytes: number): number {
  const { clusterBytes, l1Offset } = header;
  const isInL1 = offset < l1Offset + l1Bytes(header) && offset + clusterBytes > l1Offset;
  const isInFile = offset >= clusterBytes && offset + clusterBytes <= fileBytes;
  if (offset % clusterBytes === 0 && isInFile && !isInL1) return offset;
  throw brokenQcow2(`a table is said to be at byte ${offset} of ${fileBytes}`);
}

/**
 * Reads a table of the second level into `map`.
 * @param l2 one cluster
 * @throws AppError `image_error` for clusters outside the file, `not_supported` when the pieces are too many.
 */
export function readL2(header: Qcow2Header, table: L2Table, l2: Buffer, fileBytes: number, map: DiskMap): void {
  const { clusterBytes, virtualBytes } = header;
  const entries = Math.min(clusterBytes / entryBytes, Math.ceil((virtualBytes - table.guest) / clusterBytes));
  for (let index = 0; index < entries; index += 1) {
    const guest = table.guest + index * clusterBytes;
    const bytes = Math.min(clusterBytes, virtualBytes - guest);
    const high = l2.readUInt32BE(index * entryBytes);
    const low = l2.readUInt32BE(index * entryBytes + 4);
    if ((high & 0x40_00_00_00) !== 0) {
      const packed = packedCluster(header, high, low, fileBytes);
      map.extents.add({ ...packed, guest, packed: true });
    } else {
      const host = plainCluster(header, high, low, fileBytes);
      if (host === undefined) map.holes.add(guest, bytes);
      else map.extents.add({ host, bytes, guest, packed: false });
    }
  }
}

/** `undefined` for a cluster that reads as zeros. */
function plainCluster(header: Qcow2Header, high: number, low: number, fileBytes: number): number | undefined {
  const isZero = (low & 1) !== 0;
  if ((high & 0x3f_00_00_00) !== 0 || (low & 0x1fe) !== 0 || (isZero && header.version === 2)) {
    throw brokenQcow2('an entry of a table has bits set that mean nothing');
  }
  const host = hostOffset(high, low);
  if (host % header.clusterBytes !== 0) throw brokenQcow2(`a cluster is said to be at byte ${host}`);
  if (isZero || host === 0) return undefined;
  // the file may end within its last cluster: the rest of that reads as zeros
  if (host < header.clusterBytes || host >= fileBytes)
    throw brokenQcow2(`a cluster is said to be at byte ${host} of ${fileBytes}`);
  return host;
}

/** Descriptor of a compressed cluster: the byte it begins at, and the 512-byte sectors that it touches beyond the first. */
function packedCluster(
  header: Qcow2Header,
  high: number,
  low: number,
  fileBytes: number,
): { readonly host: number; readonly bytes: number } {
  const offsetBits = 62 - (header.clusterBits - 8) - 32;
  const host = (high & (2 ** offsetBits - 1)) * 2 ** 32 + low;
  const sectors = (high & 0x3f_ff_ff_ff) >>> offsetBits;
  if (host < 512 || host >= fileBytes)
    throw brokenQcow2(`a compressed cluster is said to be at byte ${host} of ${fileBytes}`);
  return { host, bytes: Math.min((sectors + 1) * 512 - (host % 512), fileBytes - host) };
}

/** Bits 9 to 55 of an entry. */
function hostOffset(high: number, low: number): number {
  return (high & 0x00_ff_ff_ff) * 2 ** 32 + ((low & 0xff_ff_fe_00) >>> 0);
}
