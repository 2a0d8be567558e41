import { AppError } from '#shared/errors/app-error.ts';

/** Fields of a qcow2 header that the writer needs (QEMU docs/interop/qcow2.txt); all sizes and offsets in bytes. */
export interface Qcow2Header {
  readonly version: 2 | 3;
  readonly clusterBits: number;
  readonly clusterBytes: number;
  /** Bytes of the disk that the image stands for. */
  readonly virtualBytes: number;
  readonly l1Offset: number;
  /** Entries that the virtual size needs: those behind them mean nothing. */
  readonly l1Entries: number;
  readonly compression: 'deflate' | 'zstd';
}

const magic = 0x51_46_49_fb;
const version3HeaderBytes = 104;
const clusterBitsRange = { min: 9, max: 21 } as const;
/** 128 TiB with clusters of 64 KiB. QEMU's own limit is 16 times higher; it would cost half a GB of memory here. */
const maxL1Entries = 262_144;
/** Incompatible feature bits (version 3). */
const features = { dirty: 0, corrupt: 1, externalData: 2, compressionType: 3, extendedL2: 4 } as const;
/** Lazy reference counts: nobody needs them to read. */
const harmlessFeatures: readonly number[] = [features.dirty, features.compressionType];

/** @param head the file's first bytes */
export function isQcow2(head: Buffer): boolean {
  return head.length >= 4 && head.readUInt32BE(0) === magic;
}

/**
 * Parses the header of a qcow2 image, strictly: an image that points to other files is refused, because those are on
 * whatever machine reads it (CVE-2024-32498), and so is everything that this reader would misread.
 * @param head the file's first bytes, 104 or more
 * @throws AppError `image_error` for a file that is broken or refers to others, `not_supported` for features that
 * can't be read here.
 */
export function parseQcow2Header(head: Buffer): Qcow2Header {
  if (!isQcow2(head) || head.length < version3HeaderBytes) throw brokenQcow2('it is too short for a header');
  const version = head.readUInt32BE(4);
  if (version !== 2 && version !== 3) throw unsupported(`version ${version} (2 and 3 can be read)`);
  requireNoReferences(head, version);
  if (version === 3) checkFeatures(head);
  const clusterBits = head.readUInt32BE(20);
  if (clusterBits < clusterBitsRange.min || clusterBits > clusterBitsRange.max) {
    throw brokenQcow2(`its clusters have 2^${clusterBits} bytes, which must be 2^9 to 2^21`);
  }
  const clusterBytes = 2 ** clusterBits;
  const virtualBytes = readOffset(head, 24, 'its virtual size');
  if (virtualBytes === 0 || virtualBytes % 512 !== 0) throw brokenQcow2(`its virtual size is ${virtualBytes} bytes`);
  const l1Entries = Math.ceil(virtualBytes / (clusterBytes * (clusterBytes / 8)));
  if (head.readUInt32BE(36) < l1Entries) throw brokenQcow2('its first table is too short for its virtual size');
  if (l1Entries > maxL1Entries) {
    throw unsupported(`${l1Entries} tables (${maxL1Entries} can be read): convert it with larger clusters`);
  }
  const l1Offset = readOffset(head, 40, 'the place of its first table');
  if (l1Offset === 0 || l1Offset % clusterBytes !== 0) throw brokenQcow2(`its first table is at byte ${l1Offset}`);
  return {
    version,
    clusterBits,
    clusterBytes,
    virtualBytes,
    l1Offset,
    l1Entries,
    compression: version === 3 ? readCompression(head) : 'deflate',
  };
}

function requireNoReferences(head: Buffer, version: number): void {
  if (head.readBigUInt64BE(8) !== 0n || head.readUInt32BE(16) !== 0) {
    throw new AppError('image_error', 'the qcow2 image has a backing file: flatten it (qemu-img convert)');
  }
  if (head.readUInt32BE(32) !== 0) throw unsupported('encryption');
  const hasExternalData = version === 3 && (head.readBigUInt64BE(72) & (1n << BigInt(features.externalData))) !== 0n;
  if (hasExternalData) {
    throw new AppError('image_error', 'the qcow2 image has its data in another file: flatten it (qemu-img convert)');
  }
}

function checkFeatures(head: Buffer): void {
  const bits = head.readBigUInt64BE(72);
  const set = Array.from({ length: 64 }, (_, bit) => bit).filter((bit) => (bits & (1n << BigInt(bit))) !== 0n);
  if (set.includes(features.corrupt)) throw brokenQcow2('it is marked as corrupt');
  if (set.includes(features.extendedL2)) throw unsupported('extended L2 entries (subclusters)');
  const unknown = set.filter((bit) => !harmlessFeatures.includes(bit));
  if (unknown.length > 0) throw unsupported(`the unknown incompatible features ${unknown.join(', ')}`);
  const length = head.readUInt32BE(100);
  if (length < version3HeaderBytes || length % 8 !== 0) throw brokenQcow2(`its header claims ${length} bytes`);
}

/** The field is there only in headers that are long enough for it (and then is the feature bit set for zstd). */
function readCompression(head: Buffer): 'deflate' | 'zstd' {
  const isThere = head.readUInt32BE(100) > version3HeaderBytes && head.length > version3HeaderBytes;
  const kind = isThere ? head.readUInt8(version3HeaderBytes) : 0;
  const isFlagged = (head.readBigUInt64BE(72) & (1n << BigInt(features.compressionType))) !== 0n;
  if (isFlagged !== (kind !== 0)) throw brokenQcow2('its compression type and its feature bits contradict each other');
  if (kind > 1) throw unsupported(`compression type ${kind}`);
  return kind === 1 ? 'zstd' : 'deflate';
}

function readOffset(head: Buffer, at: number, what: string): number {
  const value = head.readBigUInt64BE(at);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw brokenQcow2(`${what} is ${value}`);
  return Number(value);
}

/** The error for a file that is not a sound qcow2 image. */
export function brokenQcow2(what: string): AppError {
  return new AppError('image_error', `the qcow2 image is broken: ${what}`);
}

function unsupported(what: string): AppError {
  return new AppError('not_supported', `the qcow2 image has ${what}`);
}
