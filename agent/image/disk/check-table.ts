import { requireDriveRoom } from '#agent/image/disk/config-drive-room.ts';
import { tooSmall } from '#agent/image/disk/disk-writer.ts';
import type { ImageRest } from '#agent/image/disk/image-rest.ts';
import type { ImageTarget } from '#agent/image/disk/image-target.ts';
import { requireMbrSectors } from '#agent/image/disk/mbr-sectors.ts';
import {
  type Gpt,
  type GptEntry,
  gptEntriesPlace,
  gptTailSectors,
  isExtended,
  type MbrEntry,
  protectiveType,
  readTables,
  sectorSizes,
  withGptEntries,
} from '#agent/storage/disk-tables.ts';
import { probedBytes, readFatSectorBytes } from '#agent/storage/file-systems/file-systems.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface TableUse {
  /** How the firmware will start it, where that is known. */
  readonly bootMode?: 'bios' | 'uefi' | undefined;
  /** The config drive that is to be added. */
  readonly drive?: Buffer | undefined;
}

const esp = { gpt: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b', msdos: 0xef } as const;

/**
 * Holds an image's partition table against the disk that it is for, before anything is wiped: an image that can't end
 * well must not cost the disk its content.
 * @param head the image's first MiB, or all of a smaller one
 * @throws AppError `image_error` for a table that is missing, damaged, for other sectors, without an EFI system
 * partition where UEFI is to start it, or with an end behind the disk; `storage_error` for a disk that is too small, or
 * has no room for the config drive.
 */
export async function checkTable(head: Buffer, rest: ImageRest, disk: ImageTarget, use: TableUse = {}): Promise<void> {
  const tables = readTables(head);
  if (tables.kind === 'gpt') {
    const gpt = await checkGpt(tables.gpts, tables.mbr, rest, disk);
    const esps = gpt.entries.filter(({ type }) => type === esp.gpt).map(({ first }) => first);
    if (use.bootMode === 'uefi') await requireEsp(esps, rest, disk);
    if (use.drive) await requireDriveRoom({ kind: 'gpt', gpt, entries: gpt.entries }, disk, use.drive, rest);
    return;
  }
  if (tables.kind === 'none') {
    throw new AppError('image_error', 'the image has no partition table: it is not a whole-disk image');
  }
  if (tables.kind === 'unknown') {
    throw new AppError(
      'image_error',
      `the image has ${tables.is}, which is no partition table that can be read here: give an image with a GPT or an MBR`,
    );
  }
  const { mbr } = tables;
  await requireMbrSectors(mbr, rest, disk);
  for (const { number, start, sectors } of mbr) requireInside(number, start + sectors, disk, 0);
  // one inside an extended partition may be it
  const esps = mbr.filter((entry) => entry.type === esp.msdos || isExtended(entry)).map(({ start }) => start);
  if (use.bootMode === 'uefi') await requireEsp(esps, rest, disk);
  if (use.drive) await requireDriveRoom({ kind: 'msdos', entries: mbr }, disk, use.drive, rest);
}

/** The GPT for this disk. */
async function checkGpt(
  gpts: readonly Gpt[],
  mbr: readonly MbrEntry[],
  rest: ImageRest,
  disk: ImageTarget,
): Promise<Gpt & { readonly entries: readonly GptEntry[] }> {
  const gpt = gpts.find(({ sectorBytes }) => sectorBytes === disk.logicalSectorBytes);
  if (gpt === undefined) {
    const sizes = gpts.map(({ sectorBytes }) => sectorBytes).join(' and ');
    throw refusal(`is for sectors of ${sizes} bytes, disk ${disk.name} has ${disk.logicalSectorBytes}`);
  }
  if (!mbr.some(({ type }) => type === protectiveType)) {
    throw refusal('has no protective MBR (an entry of type 0xEE in the first sector): Linux would not read it');
  }
  const { entries } = await withEntries(gpt, rest);
  if (entries.length === 0) throw refusal('has no partition in it');
  const tail = gptTailSectors(gpt);
  for (const { number, last } of entries) requireInside(number, last + 1, disk, tail);
  requireInOrder(gpt, entries);
  const madeFor = (gpt.backupAt + 1) * gpt.sectorBytes;
  // a compressed image does not say how long it is, but it holds the table's copy at its end
  if (rest.imageBytes === undefined && madeFor > disk.sizeBytes) throw tooSmall(disk, madeFor);
  return { ...gpt, entries };
}

/** Some boards have something else behind the header, and the entries further in. */
export async function withEntries(
  gpt: Gpt,
  { look }: ImageRest,
): Promise<Gpt & { readonly entries: readonly GptEntry[] }> {
  let read = gpt;
  if (gpt.fault === undefined && gpt.entries === undefined) {
    const { offset, bytes } = gptEntriesPlace(gpt);
    const found = await look(offset, bytes);
    if (found === undefined)
      throw refusal(`has its entries in sector ${gpt.entriesAt}, where they can't be checked before`);
    read = withGptEntries(gpt, found);
  }
  const { entries } = read;
  if (entries === undefined) throw refusal(`is damaged: ${read.fault ?? 'it has no entries'}`);
  return { ...read, entries };
}

/** sgdisk and Linux refuse others. */
function requireInOrder(gpt: Gpt, entries: readonly GptEntry[]): void {
  let free = gpt.entriesAt + Math.ceil((gpt.slots * gpt.entryBytes) / gpt.sectorBytes);
  let before = 'the table itself';
  for (const { number, first, last } of [...entries].sort((a, b) => a.first - b.first)) {
    if (last < first)
      throw refusal(`is damaged: partition ${number} ends in sector ${last}, before it begins in ${first}`);
    if (first < free) throw refusal(`is damaged: partition ${number} begins in sector ${first}, where ${before} is`);
    free = last + 1;
    before = `partition ${number}`;
  }
}

function requireInside(number: number, endSector: number, disk: ImageTarget, tailSectors: number): void {
  const end = endSector * disk.logicalSectorBytes;
  const tail = tailSectors * disk.logicalSectorBytes;
  if (end + tail <= disk.sizeBytes) return;
  const limit = tail === 0 ? '' : `, of which the GPT's copy takes the last ${tail}`;
  throw new AppError(
    'image_error',
    `partition ${number} of the image ends at byte ${end}, behind the end of disk ${disk.name} (${disk.sizeBytes} bytes${limit}): the disk is too small, or the image was cut or made for other sectors`,
    { situation: 'image_too_large', subject: disk.name },
  );
}

/** @param sectors where the image has one, or may have one */
async function requireEsp(sectors: readonly number[], { look }: ImageRest, disk: ImageTarget): Promise<void> {
  if (sectors.length === 0) {
    throw new AppError(
      'image_error',
      'the image has no EFI system partition, and the machine boots by UEFI: give an image for UEFI, or set capabilities boot_mode:bios',
    );
  }
  if (disk.logicalSectorBytes === sectorSizes[0]) return;
  for (const sector of sectors) {
    const bytes = await look(sector * disk.logicalSectorBytes, probedBytes);
    const fatSectorBytes = bytes && readFatSectorBytes(bytes);
    if (fatSectorBytes === undefined || fatSectorBytes >= disk.logicalSectorBytes) continue;
    throw new AppError(
      'image_error',
      `the image's EFI system partition has sectors of ${fatSectorBytes} bytes, which can't be mounted from disk ${disk.name} with sectors of ${disk.logicalSectorBytes}: make it for such sectors (mkfs.vfat -S ${disk.logicalSectorBytes})`,
    );
  }
}

function refusal(what: string): AppError {
  return new AppError('image_error', `the image's GPT ${what}`);
}
