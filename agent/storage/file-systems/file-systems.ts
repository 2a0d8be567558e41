import { unknownXfsFeatures } from '#agent/storage/file-systems/xfs-features.ts';

/** File systems and the like by what stands at the beginning of a partition, or of an image of one: pure. */

interface Kind {
  readonly name: string;
  readonly at: number;
  readonly magic: string;
  /** Where the UUID is of one that a system can have as its root. */
  readonly uuidAt?: number;
  /** Whether the magic alone would be too little to go by. */
  readonly holds?: (bytes: Buffer) => boolean;
}

const isSigned = (bytes: Buffer): boolean => bytes.length >= 512 && bytes.readUInt16LE(510) === 0xaa55;

/** Kinds of file systems as in the kernel's headers; magics as bytes. */
const kinds: readonly Kind[] = [
  { name: 'ext', at: 1080, magic: '\x53\xef', uuidAt: 1128, holds: isExt },
  { name: 'xfs', at: 0, magic: 'XFSB', uuidAt: 32 },
  { name: 'btrfs', at: 65_600, magic: '_BHRfS_M', uuidAt: 65_568 },
  { name: 'f2fs', at: 1024, magic: '\x10\x20\xf5\xf2', uuidAt: 1132 },
  { name: 'jfs', at: 32_768, magic: 'JFS1', uuidAt: 32_904 },
  { name: 'reiserfs', at: 65_588, magic: 'ReIsEr', uuidAt: 65_620 },
  {
    name: 'bcachefs',
    at: 4120,
    magic: '\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81',
    uuidAt: 4152,
  },
  { name: 'erofs', at: 1024, magic: '\xe2\xe1\xf5\xe0', uuidAt: 1072 },
  { name: 'squashfs', at: 0, magic: 'hsqs' },
  { name: 'FAT', at: 54, magic: 'FAT', holds: isSigned },
  { name: 'FAT', at: 82, magic: 'FAT32', holds: isSigned },
  { name: 'NTFS', at: 3, magic: 'NTFS    ', holds: isSigned },
  { name: 'exFAT', at: 3, magic: 'EXFAT   ', holds: isSigned },
  { name: 'ISO 9660', at: 32_769, magic: 'CD001' },
  { name: 'swap', at: 4086, magic: 'SWAPSPACE2' },
  { name: 'LUKS', at: 0, magic: 'LUKS\xba\xbe' },
  { name: 'LVM', at: 512, magic: 'LABELONE' },
];

/** Names of those that a system can have as its root. */
export const rootFileSystems = kinds.filter(({ uuidAt }) => uuidAt !== undefined).map(({ name }) => name);

/** Bytes from the beginning that show all that is known here. */
export const probedBytes = 68 * 1024;

/** Logarithm of the block size, and how many blocks a group has: two bytes alone come up by chance. */
function isExt(bytes: Buffer): boolean {
  return bytes.length >= 2048 && bytes.readUInt32LE(1048) <= 6 && bytes.readUInt32LE(1056) > 0;
}

function find(bytes: Buffer): Kind | undefined {
  return kinds.find(
    ({ at, magic, holds }) =>
      bytes.subarray(at, at + magic.length).toString('latin1') === magic && (holds?.(bytes) ?? true),
  );
}

/** Names what begins here: `ext`, `FAT`, `swap`; `undefined` where nothing is known. */
export function nameFileSystem(bytes: Buffer): string | undefined {
  return find(bytes)?.name;
}

export interface RootFileSystem {
  readonly name: string;
  /** `undefined` where the superblock is not read for it. */
  readonly sizeBytes: number | undefined;
  /** The smallest piece that it is read in: a disk's sectors may not be larger. */
  readonly blockBytes: number | undefined;
  /** Features for which the kernel would not mount it. */
  readonly unknownFeatures: readonly string[];
}

/**
 * The file system here, of a kind that a system can have as its root; `undefined` for anything else, or without UUID.
 * @param kernel release of the kernel that is to mount it (`uname -r`)
 */
export function readRootFileSystem(bytes: Buffer, kernel: string): RootFileSystem | undefined {
  const kind = find(bytes);
  if (kind?.uuidAt === undefined || bytes.length < kind.uuidAt + 16) return undefined;
  if (bytes.subarray(kind.uuidAt, kind.uuidAt + 16).every((byte) => byte === 0)) return undefined;
  return {
    name: kind.name,
    ...sizesOf(kind.name, bytes),
    unknownFeatures: kind.name === 'xfs' ? unknownXfsFeatures(bytes, kernel) : [],
  };
}

function sizesOf(name: string, bytes: Buffer): Pick<RootFileSystem, 'sizeBytes' | 'blockBytes'> {
  switch (name) {
    case 'ext': {
      const blockBytes = 1024 * 2 ** bytes.readUInt32LE(1048);
      const has64Bit = (bytes.readUInt32LE(1120) & 0x80) !== 0;
      const blocks = bytes.readUInt32LE(1028) + (has64Bit ? bytes.readUInt32LE(1360) * 2 ** 32 : 0);
      return { sizeBytes: blocks * blockBytes, blockBytes };
    }
    case 'xfs':
      // it is read by its sectors, which may be smaller than its blocks
      return {
        sizeBytes: Number(bytes.readBigUInt64BE(8)) * bytes.readUInt32BE(4),
        blockBytes: bytes.readUInt16BE(102),
      };
    case 'btrfs':
      return { sizeBytes: Number(bytes.readBigUInt64LE(65_648)), blockBytes: bytes.readUInt32LE(65_680) };
    default:
      return { sizeBytes: undefined, blockBytes: undefined };
  }
}

/** The label of a FAT, ISO 9660 or ext file system, the kinds that config drives have; `undefined` where none is seen. */
export function readLabel(bytes: Buffer): string | undefined {
  const text = (at: number, length: number): string => bytes.toString('latin1', at, at + length).replace(/[\0 ]+$/, '');
  switch (find(bytes)?.name) {
    case 'FAT':
      return text(bytes.toString('latin1', 82, 87) === 'FAT32' ? 71 : 43, 11);
    case 'ISO 9660':
      return text(32_808, 32);
    case 'ext':
      return text(1144, 16);
    default:
      return undefined;
  }
}

/** Size of the sectors that a FAT file system was made for; `undefined` for others. */
export function readFatSectorBytes(bytes: Buffer): number | undefined {
  return find(bytes)?.name === 'FAT' ? bytes.readUInt16LE(11) : undefined;
}
