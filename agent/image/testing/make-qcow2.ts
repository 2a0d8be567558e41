import { deflateRawSync, zstdCompressSync } from 'node:zlib';

export interface Qcow2Options {
  readonly version?: 2 | 3;
  readonly clusterBits?: number;
  readonly compression?: 'none' | 'deflate' | 'zstd';
  /** Where tables are in the file; QEMU's own images have them before the data. */
  readonly tables?: 'before data' | 'behind data';
  /** Clusters of the disk in the order in which they get their places in the file. */
  readonly order?: (clusters: readonly number[]) => readonly number[];
  /** The file ends with the data of its last cluster. */
  readonly cutsLastCluster?: boolean;
}

/** A qcow2 image of `disk`, whose zero clusters are not in it; its length must be a multiple of 512. */
export function makeQcow2(disk: Buffer, options: Qcow2Options = {}): Buffer {
  const { version = 3, clusterBits = 16, compression = 'none', tables = 'before data' } = options;
  const clusterBytes = 2 ** clusterBits;
  const perTable = clusterBytes / 8;
  const clusters = Array.from({ length: Math.ceil(disk.length / clusterBytes) }, (_, index) => index);
  const content = (cluster: number): Buffer => {
    const bytes = Buffer.alloc(clusterBytes);
    disk.copy(bytes, 0, cluster * clusterBytes, (cluster + 1) * clusterBytes);
    return bytes;
  };
  const used = clusters.filter((cluster) => content(cluster).some((byte) => byte !== 0));
  const l2Of = [...new Set(used.map((cluster) => Math.floor(cluster / perTable)))].sort((a, b) => a - b);
  const l1Entries = Math.ceil(clusters.length / perTable);
  const l1Bytes = Math.ceil((l1Entries * 8) / clusterBytes) * clusterBytes;
  const tableBytes = l1Bytes + l2Of.length * clusterBytes;
  const places = placeClusters(options.order?.(used) ?? used, content, compression, clusterBytes);
  const dataAt = clusterBytes + (tables === 'before data' ? tableBytes : 0);
  const tablesAt =
    clusterBytes + (tables === 'before data' ? 0 : Math.ceil(places.bytes / clusterBytes) * clusterBytes);
  const end = Math.max(tablesAt + tableBytes, dataAt + places.bytes);
  const file = Buffer.alloc(Math.ceil(end / clusterBytes) * clusterBytes);
  writeHeader(file, {
    version,
    clusterBits,
    bytes: disk.length,
    l1Entries,
    l1At: tablesAt,
    zstd: compression === 'zstd',
  });
  for (const [index, table] of l2Of.entries()) {
    file.writeBigUInt64BE(entry(tablesAt + l1Bytes + index * clusterBytes), tablesAt + table * 8);
  }
  for (const { cluster, at, bytes } of places.list) {
    bytes.copy(file, dataAt + at);
    const table = tablesAt + l1Bytes + l2Of.indexOf(Math.floor(cluster / perTable)) * clusterBytes;
    const isPlain = bytes.length === clusterBytes;
    const value = isPlain ? entry(dataAt + at) : packedEntry(dataAt + at, bytes.length, clusterBits);
    file.writeBigUInt64BE(value, table + (cluster % perTable) * 8);
  }
  const lastBytes = disk.length % clusterBytes;
  return options.cutsLastCluster && lastBytes > 0
    ? file.subarray(0, dataAt + places.bytes - clusterBytes + lastBytes)
    : file;
}

interface PlacedCluster {
  readonly cluster: number;
  /** From the first byte of data. */
  readonly at: number;
  readonly bytes: Buffer;
}

/**
 * Places clusters as QEMU does: those that do not shrink are stored plain, and plain ones at multiples of their size.
 */
function placeClusters(
  order: readonly number[],
  content: (cluster: number) => Buffer,
  compression: 'none' | 'deflate' | 'zstd',
  clusterBytes: number,
): { readonly list: readonly PlacedCluster[]; readonly bytes: number } {
  let at = 0;
  const list = order.map((cluster) => {
    const packed = pack(content(cluster), compression);
    const bytes = packed.length < clusterBytes ? packed : content(cluster);
    if (bytes.length === clusterBytes) at = Math.ceil(at / clusterBytes) * clusterBytes;
    at += bytes.length;
    return { cluster, at: at - bytes.length, bytes };
  });
  return { list, bytes: at };
}

function pack(bytes: Buffer, compression: 'none' | 'deflate' | 'zstd'): Buffer {
  if (compression === 'deflate') return deflateRawSync(bytes, { windowBits: 12 });
  return compression === 'zstd' ? zstdCompressSync(bytes) : bytes;
}

interface HeaderFields {
  readonly version: number;
  readonly clusterBits: number;
  readonly bytes: number;
  readonly l1Entries: number;
  readonly l1At: number;
  readonly zstd: boolean;
}

function writeHeader(file: Buffer, header: HeaderFields): void {
  file.write('QFI\u00fb', 0, 'latin1');
  file.writeUInt32BE(header.version, 4);
  file.writeUInt32BE(header.clusterBits, 20);
  file.writeBigUInt64BE(BigInt(header.bytes), 24);
  file.writeUInt32BE(header.l1Entries, 36);
  file.writeBigUInt64BE(BigInt(header.l1At), 40);
  if (header.version === 2) return;
  file.writeBigUInt64BE(header.zstd ? 8n : 0n, 72);
  file.writeUInt32BE(4, 96);
  file.writeUInt32BE(112, 100);
  file.writeUInt8(header.zstd ? 1 : 0, 104);
}

/** Makes the entry of a table or a cluster in use once. */
function entry(offset: number): bigint {
  return (1n << 63n) | BigInt(offset);
}

function packedEntry(offset: number, bytes: number, clusterBits: number): bigint {
  const sectors = Math.floor((offset + bytes - 1) / 512) - Math.floor(offset / 512);
  return (1n << 62n) | (BigInt(sectors) << BigInt(62 - (clusterBits - 8))) | BigInt(offset);
}
