import type { ImageRest } from '#agent/image/disk/image-rest.ts';
import type { ImageTarget } from '#agent/image/disk/image-target.ts';
import {
  canGrow,
  type Gpt,
  type GptEntry,
  gptTailSectors,
  grownSlots,
  isFull,
  type MbrEntry,
} from '#agent/storage/disk-tables.ts';
import { probedBytes, readLabel } from '#agent/storage/file-systems/file-systems.ts';
import { freeMbrSlot, placeLastMbrEntry } from '#agent/storage/mbr-entry.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The label that cloud-init looks for. */
export const driveLabel = 'config-2';
export const drivePartitionMib = 64;
const drivePartitionBytes = drivePartitionMib * 1024 * 1024;

export type ReadTable =
  | { readonly kind: 'gpt'; readonly gpt: Gpt; readonly entries: readonly GptEntry[] }
  | { readonly kind: 'msdos'; readonly entries: readonly MbrEntry[] };

export function isDriveLabel(label: string | null | undefined): boolean {
  return label?.toLowerCase() === driveLabel;
}

/**
 * Makes sure that the config drive will find its partition, or room for a new one, in the image's table.
 * @throws AppError `storage_error` saying what is in the way.
 */
export async function requireDriveRoom(
  table: ReadTable,
  disk: ImageTarget,
  drive: Buffer,
  rest: ImageRest,
): Promise<void> {
  const named = table.kind === 'gpt' ? table.entries.filter(({ name }) => isDriveLabel(name)) : [];
  const obstacle = describeObstacle(table, disk);
  // by its label only where nothing else helps: that costs a look into each partition
  const meant = named.length > 0 || obstacle === undefined ? named : await findLabelled(table, disk, rest);
  if (meant.length > 1) throw noRoom(disk, `${meant.length} partitions are labelled ${driveLabel}`);
  const [only] = meant;
  if (only === undefined && obstacle === undefined) return;
  if (only === undefined) throw noRoom(disk, obstacle ?? '');
  const { start, end } = placeOf(only, disk);
  if (end - start >= drive.length) return;
  throw noRoom(disk, `its partition ${driveLabel} (${only.number}) has ${end - start} bytes for ${drive.length}`);
}

async function findLabelled(
  { entries }: ReadTable,
  disk: ImageTarget,
  rest: ImageRest,
): Promise<readonly (GptEntry | MbrEntry)[]> {
  const found: (GptEntry | MbrEntry)[] = [];
  for (const entry of entries) {
    const bytes = await rest.look(placeOf(entry, disk).start, probedBytes);
    if (bytes && isDriveLabel(readLabel(bytes))) found.push(entry);
  }
  return found;
}

function placeOf(entry: GptEntry | MbrEntry, { logicalSectorBytes }: ImageTarget): { start: number; end: number } {
  const [start, end] = 'last' in entry ? [entry.first, entry.last + 1] : [entry.start, entry.start + entry.sectors];
  return { start: start * logicalSectorBytes, end: end * logicalSectorBytes };
}

/** Says why no partition of 64 MiB can be added at the disk's end; `undefined` when it can. */
function describeObstacle(table: ReadTable, disk: ImageTarget): string | undefined {
  if (table.kind === 'msdos') {
    if (freeMbrSlot(table.entries) === undefined) return 'all four slots of its MBR are taken';
    const { start } = placeLastMbrEntry(disk, drivePartitionBytes);
    return describeEnd(table, disk, start * disk.logicalSectorBytes);
  }
  const { entries } = table;
  const gpt = isFull(table.gpt) ? { ...table.gpt, slots: grownSlots } : table.gpt;
  if (isFull(table.gpt) && !canGrow(table.gpt)) {
    return `all ${table.gpt.slots} entries of its GPT are taken, and its first partition leaves no room for more`;
  }
  // sgdisk counts from the last usable sector
  const usable = disk.sizeBytes - (gptTailSectors(gpt) + 1) * disk.logicalSectorBytes;
  return describeEnd({ entries }, disk, usable - drivePartitionBytes);
}

function describeEnd({ entries }: Pick<ReadTable, 'entries'>, disk: ImageTarget, from: number): string | undefined {
  const ends = Math.max(...entries.map((entry) => placeOf(entry, disk).end));
  return ends <= from ? undefined : `its partitions end at byte ${ends} of ${disk.sizeBytes}`;
}

function noRoom(disk: ImageTarget, obstacle: string): AppError {
  return new AppError(
    'storage_error',
    `the config drive has no place on disk ${disk.name} behind this image: ${obstacle}. It needs a partition labelled ${driveLabel}, or a free entry in the table and ${drivePartitionMib} MiB at the disk's end`,
  );
}
