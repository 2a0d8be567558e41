import { crc32 } from 'node:zlib';

/** Partition tables as they stand in the first bytes of a disk or image: pure. Places are in sectors, as on the disk. */

export interface MbrEntry {
  /** 1 to 4. */
  readonly number: number;
  readonly type: number;
  readonly start: number;
  readonly sectors: number;
}

export interface GptEntry {
  readonly number: number;
  /** GUID in lower case. */
  readonly type: string;
  readonly name: string;
  readonly first: number;
  /** The last sector that belongs to it. */
  readonly last: number;
}

export interface Gpt {
  /** Size of the sectors that it counts in. */
  readonly sectorBytes: number;
  /** Where the disk that it was made on ends. */
  readonly backupAt: number;
  readonly entriesAt: number;
  readonly slots: number;
  readonly entryBytes: number;
  readonly entriesCrc: number;
  /** `undefined` when they lie behind the bytes that were given. */
  readonly entries: readonly GptEntry[] | undefined;
  /** The reason why Linux does not read such a table. */
  readonly fault: string | undefined;
}

/** Sizes of sectors that disks have, the usual one first. */
export const sectorSizes = [512, 4096] as const;

const gptMagic = 'EFI PART';
/** 8192 entries; 128 are usual. */
const maxEntriesBytes = 1024 * 1024;
export const protectiveType = 0xee;
const extendedTypes: ReadonlySet<number> = new Set([0x05, 0x0f, 0x85]);
const mbrEntriesAt = 446;

/** Where the four entries stand in the first sector, in bytes. */
export const mbrEntryPlaces = [0, 1, 2, 3].map((slot) => mbrEntriesAt + 16 * slot);

/** Whether other partitions, whose table is inside it, may be in a partition. */
export function isExtended({ type }: Pick<MbrEntry, 'type'>): boolean {
  return extendedTypes.has(type);
}

/**
 * The entries in use of an MBR, as Linux counts them: those with a size, and any that protects a GPT.
 * @returns `none` when the first sector is no MBR, nor a file system's boot sector, which may be signed alike; `unknown` when it is
 * signed and has entries that Linux takes for none
 */
function readMbr(head: Buffer): readonly MbrEntry[] | 'none' | 'unknown' {
  if (head.length < 512 || head.readUInt16LE(510) !== 0xaa55 || isFatBootSector(head)) return 'none';
  if (mbrEntryPlaces.some((at) => ![0, 0x80].includes(head.readUInt8(at)))) return 'unknown';
  return mbrEntryPlaces
    .map((at, slot) => ({
      number: slot + 1,
      type: head.readUInt8(at + 4),
      start: head.readUInt32LE(at + 8),
      sectors: head.readUInt32LE(at + 12),
    }))
    .filter(({ sectors, type }) => sectors > 0 || type === protectiveType);
}

/**
 * Recognizes a FAT's boot sector as Linux does: FATs, reserved sectors and the media byte, which are boot code in an
 * MBR.
 */
function isFatBootSector(head: Buffer): boolean {
  const isNamed = [54, 82].some((at) => head.subarray(at, at + 3).toString('latin1') === 'FAT');
  const isOther = ['NTFS    ', 'EXFAT   '].includes(head.subarray(3, 11).toString('latin1'));
  return isNamed || isOther;
}

export type Tables =
  | {
      readonly kind: 'gpt';
      /** Sizes of sector that the table may be for: one, or several where an image has a header for each size. */
      readonly gpts: readonly Gpt[];
      /** Entries in use of the MBR before it. */
      readonly mbr: readonly MbrEntry[];
    }
  | {
      readonly kind: 'msdos';
      /** Entries in use, one or more. */
      readonly mbr: readonly MbrEntry[];
    }
  /** There is none: no mark of one, or an MBR with no entry in use. */
  | { readonly kind: 'none' }
  /** There may be one, of no kind that is read here. */
  | {
      readonly kind: 'unknown';
      /** The words for it: `an Apple partition map`. */
      readonly is: string;
    };

/**
 * All tables at the beginning of a disk. A GPT beside an MBR that has partitions of its own and protects none of the GPT
 * is left over from before: Linux and firmware pass over it.
 * @param head the first 34 KiB or more (or all of it)
 */
export function readTables(head: Buffer): Tables {
  const found = readMbr(head);
  const mbr = typeof found === 'string' ? [] : found;
  const isProtective = mbr.some(({ type }) => type === protectiveType);
  const isLeftOver = mbr.length > 0 && !isProtective;
  const sizes = isLeftOver ? [] : sectorSizes.filter((size) => isGptHeader(head, size));
  if (sizes.length > 0) return { kind: 'gpt', gpts: sizes.map((size) => readGpt(head, size)), mbr };
  // Linux reads no MBR beside such an entry either (block/partitions/msdos.c)
  if (isProtective)
    return { kind: 'unknown', is: 'a protective MBR (an entry of type 0xEE) without a GPT that can be read behind it' };
  if (mbr.length > 0) return { kind: 'msdos', mbr };
  const other = otherTables.find(({ at, magic }) => head.toString('latin1', at, at + magic.length) === magic);
  if (other) return { kind: 'unknown', is: other.is };
  return found === 'unknown'
    ? { kind: 'unknown', is: 'a signed first sector whose entries are marked neither active nor inactive' }
    : { kind: 'none' };
}

/** Tables of other makers, by their marks as in Linux' `block/partitions` and util-linux' `libblkid`. */
const otherTables: readonly { readonly is: string; readonly at: number; readonly magic: string }[] = [
  { is: 'an Apple partition map', at: 512, magic: 'PM\0\0' },
  { is: 'a BSD disk label', at: 512, magic: '\x57\x45\x56\x82' },
  { is: 'a Sun disk label', at: 508, magic: '\xda\xbe' },
  { is: 'an SGI volume header', at: 0, magic: '\x0b\xe5\xa9\x41' },
  { is: 'an AIX volume', at: 0, magic: '\xc9\xc2\xd4\xc1' },
];

/** Sectors at a disk's end that hold the GPT's copy. */
export function gptTailSectors({
  slots,
  entryBytes,
  sectorBytes,
}: Pick<Gpt, 'slots' | 'entryBytes' | 'sectorBytes'>): number {
  return 1 + Math.ceil((slots * entryBytes) / sectorBytes);
}

/** Entries of a table that was made larger, and of most others. */
export const grownSlots = 128;

export function isFull({ slots, entries }: Pick<Gpt, 'slots' | 'entries'>): boolean {
  return entries !== undefined && entries.length >= slots;
}

/** Whether there is room for 128 entries before the first partition, at the place where sgdisk makes them. */
export function canGrow({ slots, entryBytes, entriesAt, entries = [], sectorBytes }: Gpt): boolean {
  const end = entriesAt + Math.ceil((grownSlots * 128) / sectorBytes);
  return entriesAt === 2 && entryBytes === 128 && slots < grownSlots && entries.every(({ first }) => first >= end);
}

function isGptHeader(head: Buffer, at: number): boolean {
  return head.subarray(at, at + gptMagic.length).toString('latin1') === gptMagic;
}

function readGpt(head: Buffer, sectorBytes: number): Gpt {
  const header = Buffer.alloc(sectorBytes);
  head.copy(header, 0, sectorBytes, 2 * sectorBytes);
  const gpt: Gpt = {
    sectorBytes,
    backupAt: Number(header.readBigUInt64LE(32)),
    entriesAt: Number(header.readBigUInt64LE(72)),
    slots: header.readUInt32LE(80),
    entryBytes: header.readUInt32LE(84),
    entriesCrc: header.readUInt32LE(88),
    entries: undefined,
    fault: describeHeaderFault(header),
  };
  const { offset, bytes } = gptEntriesPlace(gpt);
  return gpt.fault === undefined && offset + bytes <= head.length
    ? withGptEntries(gpt, head.subarray(offset, offset + bytes))
    : gpt;
}

function describeHeaderFault(header: Buffer): string | undefined {
  if (crc32(withoutChecksum(header)) !== header.readUInt32LE(16)) return 'the checksum of its header is wrong';
  const [slots, entryBytes] = [header.readUInt32LE(80), header.readUInt32LE(84)];
  const isSane = entryBytes >= 128 && entryBytes % 8 === 0 && slots > 0 && slots * entryBytes <= maxEntriesBytes;
  return isSane ? undefined : `it has ${slots} entries of ${entryBytes} bytes`;
}

/** Where its entries stand, in bytes. */
export function gptEntriesPlace(gpt: Pick<Gpt, 'entriesAt' | 'slots' | 'entryBytes' | 'sectorBytes'>): {
  readonly offset: number;
  readonly bytes: number;
} {
  return { offset: gpt.entriesAt * gpt.sectorBytes, bytes: gpt.slots * gpt.entryBytes };
}

/** The same GPT with the entries that these bytes are. */
export function withGptEntries(gpt: Gpt, bytes: Buffer): Gpt {
  if (crc32(bytes) !== gpt.entriesCrc) return { ...gpt, fault: 'the checksum of its entries is wrong' };
  return { ...gpt, entries: readGptEntries(bytes, gpt.slots, gpt.entryBytes) };
}

/** The header counts itself with zeros in place of the checksum. */
function withoutChecksum(header: Buffer): Buffer {
  const length = Math.min(header.readUInt32LE(12), header.length);
  const counted = Buffer.from(header.subarray(0, length));
  if (length >= 20) counted.writeUInt32LE(0, 16);
  return counted;
}

function readGptEntries(bytes: Buffer, slots: number, entryBytes: number): readonly GptEntry[] {
  const entries: GptEntry[] = [];
  for (let slot = 0; slot < slots; slot += 1) {
    const entry = bytes.subarray(slot * entryBytes, (slot + 1) * entryBytes);
    if (entry.subarray(0, 16).every((byte) => byte === 0)) continue;
    entries.push({
      number: slot + 1,
      type: guidOf(entry.subarray(0, 16)),
      name: entry.subarray(56, 128).toString('utf16le').replace(/\0.*$/s, ''),
      first: Number(entry.readBigUInt64LE(32)),
      last: Number(entry.readBigUInt64LE(40)),
    });
  }
  return entries;
}

/** The first three of its five groups are little-endian numbers. */
function guidOf(bytes: Buffer): string {
  const [a, b, c] = [bytes.readUInt32LE(0), bytes.readUInt16LE(4), bytes.readUInt16LE(6)];
  const numbers = [a.toString(16).padStart(8, '0'), ...[b, c].map((each) => each.toString(16).padStart(4, '0'))];
  return `${numbers.join('-')}-${bytes.toString('hex', 8, 10)}-${bytes.toString('hex', 10, 16)}`;
}
