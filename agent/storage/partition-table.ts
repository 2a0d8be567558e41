/** What the beginning of a disk says of its partition table: pure. */
export interface PartitionTable {
  readonly kind: 'gpt' | 'msdos' | 'none';
  /** Sector size that a GPT was made for. */
  readonly gptSectorBytes?: number;
  /** The MBR's disk identifier as `0x12345678`: Ironic's "root uuid" of a whole-disk image. */
  readonly diskId?: string;
  /** The MBR's first 440 bytes hold code. */
  readonly hasBootCode: boolean;
}

const gptMagic = 'EFI PART';

/** @param head the disk's first bytes, 8 KiB or more (or all of it) */
export function readPartitionTable(head: Buffer): PartitionTable {
  const gptSectorBytes = [512, 4096].find(
    (at) => head.subarray(at, at + gptMagic.length).toString('latin1') === gptMagic,
  );
  const hasMbr = head.length >= 512 && head.readUInt16LE(510) === 0xaa55;
  const id = hasMbr ? head.readUInt32LE(440) : 0;
  return {
    kind: gptSectorBytes === undefined ? tableWithoutGpt(head, hasMbr) : 'gpt',
    ...(gptSectorBytes === undefined ? {} : { gptSectorBytes }),
    ...(id === 0 ? {} : { diskId: `0x${id.toString(16).padStart(8, '0')}` }),
    hasBootCode: hasMbr && head.subarray(0, 440).some((byte) => byte !== 0),
  };
}

/** A boot sector without entries is a file system's, not a table. */
function tableWithoutGpt(head: Buffer, hasMbr: boolean): 'msdos' | 'none' {
  if (!hasMbr) return 'none';
  return [446, 462, 478, 494].some((at) => head.readUInt8(at + 4) !== 0) ? 'msdos' : 'none';
}
