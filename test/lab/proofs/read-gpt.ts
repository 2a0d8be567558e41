import { closeSync, openSync, readSync } from 'node:fs';
import { AppError } from '#shared/errors/app-error.ts';

/** One entry of a GUID partition table (UEFI 2.10 §5.3.3). */
export interface GptPartition {
  /** From 1. */
  readonly number: number;
  /** GUIDs as 32 hex digits in the order of their bytes on the disk: equal or not is all that matters. */
  readonly type: string;
  readonly guid: string;
  /** 512-byte sectors, inclusive. */
  readonly firstSector: number;
  readonly lastSector: number;
  readonly name: string;
}

const sector = 512;

/**
 * The primary partition table in a disk's file.
 * @param at where that disk starts in the file, in bytes: an array's does not start with that of its member
 * @throws AppError `storage_error` when there is none.
 */
export function readGpt(file: string, at = 0): GptPartition[] {
  const header = readBytes(file, at + sector, sector);
  if (header.toString('latin1', 0, 8) !== 'EFI PART') {
    throw new AppError('storage_error', `${file} has no GUID partition table`);
  }
  const entriesAt = at + Number(header.readBigUInt64LE(72)) * sector;
  const count = header.readUInt32LE(80);
  const size = header.readUInt32LE(84);
  return parseGptEntries(readBytes(file, entriesAt, count * size), size);
}

/** The used entries of a partition array. */
export function parseGptEntries(entries: Buffer, size: number): GptPartition[] {
  const partitions: GptPartition[] = [];
  for (let index = 0; (index + 1) * size <= entries.length; index += 1) {
    const entry = entries.subarray(index * size, (index + 1) * size);
    const type = entry.toString('hex', 0, 16);
    if (/^0+$/.test(type)) continue;
    partitions.push({
      number: index + 1,
      type,
      guid: entry.toString('hex', 16, 32),
      firstSector: Number(entry.readBigUInt64LE(32)),
      lastSector: Number(entry.readBigUInt64LE(40)),
      name: entry.toString('utf16le', 56, 128).replace(/\0.*$/s, ''),
    });
  }
  return partitions;
}

function readBytes(file: string, at: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, buffer, 0, length, at);
  } finally {
    closeSync(descriptor);
  }
  return buffer;
}
