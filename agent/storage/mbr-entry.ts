import { open } from 'node:fs/promises';
import { type MbrEntry, mbrEntryPlaces } from '#agent/storage/disk-tables.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';

const mib = 1024 * 1024;
/** FAT with LBA, the type that Ironic gives a config drive. */
const fatType = 0x0c;
/** Cylinder, head and sector of places that they can't express: what counts are the sector numbers. */
const beyondChs = Buffer.from([0xfe, 0xff, 0xff]);

type Target = Pick<BlockDevice, 'name' | 'sizeBytes' | 'logicalSectorBytes'>;

/** The first slot without a partition; `undefined` when all four are taken. */
export function freeMbrSlot(entries: readonly Pick<MbrEntry, 'number'>[]): number | undefined {
  return [1, 2, 3, 4].find((number) => !entries.some((entry) => entry.number === number));
}

/** The last bytes of the disk that an MBR reaches, in sectors: they begin and end at whole MiB. */
export function placeLastMbrEntry(disk: Target, bytes: number): { readonly start: number; readonly sectors: number } {
  // the numbers have 32 bits
  const reachable = Math.min(disk.sizeBytes, 2 ** 32 * disk.logicalSectorBytes - mib);
  const end = Math.floor(reachable / mib) * mib;
  return { start: (end - bytes) / disk.logicalSectorBytes, sectors: bytes / disk.logicalSectorBytes };
}

/**
 * Adds a primary partition in the last bytes that an MBR reaches. Nothing else in the first sector changes: parted would
 * write boot code and a disk identifier where an image has none, and the CHS values of all.
 * @param entries those that are there
 * @throws AppError `storage_error` when all slots are taken.
 */
export async function addLastMbrEntry(
  disk: Target,
  entries: readonly Pick<MbrEntry, 'number'>[],
  bytes: number,
): Promise<void> {
  const number = freeMbrSlot(entries);
  const at = mbrEntryPlaces[(number ?? 0) - 1];
  if (at === undefined) throw new AppError('storage_error', `all four slots of the MBR of ${disk.name} are taken`);
  const { start, sectors } = placeLastMbrEntry(disk, bytes);
  const entry = Buffer.alloc(16);
  beyondChs.copy(entry, 1);
  entry.writeUInt8(fatType, 4);
  beyondChs.copy(entry, 5);
  entry.writeUInt32LE(start, 8);
  entry.writeUInt32LE(sectors, 12);
  const handle = await open(disk.name, 'r+');
  try {
    await handle.write(entry, 0, entry.length, at);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
