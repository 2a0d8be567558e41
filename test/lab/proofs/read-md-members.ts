import { closeSync, openSync, readSync } from 'node:fs';
import { readGpt } from '#test/lab/proofs/read-gpt.ts';

/** A partition of a disk's file that is a member of a software RAID. */
export interface MdMember {
  /** 32 hex digits in fours of eight, as mdadm and the agent write it. */
  readonly arrayUuid: string;
  readonly level: number;
  /** How many members the array has. */
  readonly raidDisks: number;
  /** Where the array's first byte is in the disk's file; of RAID 1 the others follow it. */
  readonly dataAt: number;
}

const sector = 512;
/** Version 1.2 keeps its superblock 4 KiB behind the partition's start. */
const superblockSector = 8;
const magic = 0xa92b4efc;

/** The RAID members among a disk's partitions; none on a disk without a partition table. */
export function readMdMembers(diskFile: string): MdMember[] {
  const descriptor = openSync(diskFile, 'r');
  try {
    const read = (at: number, length: number): Buffer => {
      const buffer = Buffer.alloc(length);
      readSync(descriptor, buffer, 0, length, at);
      return buffer;
    };
    const starts = mbrStarts(read(0, sector)) ?? readGpt(diskFile).map(({ firstSector }) => firstSector);
    return starts.flatMap((start) => {
      const superblock = read((start + superblockSector) * sector, 256);
      return parseMdSuperblock(superblock, start * sector) ?? [];
    });
  } finally {
    closeSync(descriptor);
  }
}

/** First sectors of the primary partitions, none without a table; `undefined` where it only protects a GPT (type EE). */
export function mbrStarts(mbr: Buffer): number[] | undefined {
  if (mbr.readUInt16LE(510) !== 0xaa55) return [];
  const entries = [0, 1, 2, 3].map((index) => mbr.subarray(446 + index * 16, 462 + index * 16));
  if (entries.some((entry) => entry[4] === 0xee)) return undefined;
  return entries.filter((entry) => entry[4] !== 0).map((entry) => entry.readUInt32LE(8));
}

/**
 * Linux' `struct mdp_superblock_1` (include/uapi/linux/raid/md_p.h).
 * @param partitionAt where its partition starts, in bytes
 */
export function parseMdSuperblock(superblock: Buffer, partitionAt: number): MdMember | undefined {
  const isMember =
    superblock.readUInt32LE(0) === magic &&
    superblock.readUInt32LE(4) === 1 &&
    superblock.readBigUInt64LE(144) === BigInt(superblockSector);
  if (!isMember) return undefined;
  const uuid = superblock.toString('hex', 16, 32);
  return {
    arrayUuid: uuid.match(/.{8}/g)?.join(':') ?? uuid,
    level: superblock.readInt32LE(72),
    raidDisks: superblock.readUInt32LE(92),
    dataAt: partitionAt + Number(superblock.readBigUInt64LE(128)) * sector,
  };
}
