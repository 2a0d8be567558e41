import { type FileHandle, open } from 'node:fs/promises';
import { mbrEntryPlaces, protectiveType } from '#agent/storage/disk-tables.ts';
import type { Run } from '#shared/process/run.ts';

/** Moves the backup GPT to the end of the disk: an image brings it at its own end, which is somewhere in the middle. */
export async function moveBackupGpt(run: Run, device: string): Promise<void> {
  await keepingFirstSector(device, () => run('sgdisk', ['--move-second-header', device]));
}

/**
 * Adds a partition in the last `sizeMb` MB of a GPT disk, named `name`.
 * @param growTo entries that its table is to have first, where it is full
 * @throws AppError `command_failed` when the space is taken.
 */
export async function addLastGptPartition(
  run: Run,
  device: string,
  { sizeMb, name, growTo }: { readonly sizeMb: number; readonly name: string; readonly growTo: number | undefined },
): Promise<void> {
  const grow = growTo === undefined ? [] : [`--resize-table=${growTo}`];
  // 0: the first free number, and after --new the partition just made
  const add = ['--new', `0:-${sizeMb}MB:0`, '--change-name', `0:${name}`];
  await keepingFirstSector(device, () => run('sgdisk', [...grow, ...add, device]));
}

/**
 * Lets sgdisk change a GPT, and puts back what it rewrites in the first sector: the active flag of the protective entry,
 * without which some BIOSes start no GPT disk, and the CHS values of a hybrid MBR. Only that entry's size is new.
 */
async function keepingFirstSector(device: string, change: () => Promise<unknown>): Promise<void> {
  const handle = await open(device, 'r+');
  try {
    const kept = await readFirstSector(handle);
    await change();
    const changed = await readFirstSector(handle);
    for (const at of mbrEntryPlaces) {
      const isProtective = [kept, changed].every((sector) => sector.readUInt8(at + 4) === protectiveType);
      if (isProtective) changed.copy(kept, at + 12, at + 12, at + 16);
    }
    if (kept.equals(changed)) return;
    await handle.write(kept, 0, kept.length, 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function readFirstSector(handle: FileHandle): Promise<Buffer> {
  const { buffer } = await handle.read(Buffer.alloc(512), 0, 512, 0);
  return buffer;
}

export interface NewGptPartition {
  /** Start as sgdisk has it: `1M`. */
  readonly start: string;
  readonly sizeMib: number;
  /** sgdisk's type code: `ef00`. */
  readonly code: string;
  readonly name: string;
}

/**
 * Adds a partition with the first free number. The kernel is not asked to read the table again: on a disk whose other
 * partitions are in use it can't.
 * @throws AppError `command_failed` when the space is taken.
 */
export async function addGptPartition(run: Run, device: string, partition: NewGptPartition): Promise<void> {
  const place = ['--new', `0:${partition.start}:+${partition.sizeMib}M`];
  const what = ['--typecode', `0:${partition.code}`, '--change-name', `0:${partition.name}`];
  await run('sgdisk', [...place, ...what, device]);
}
