import type { Run } from '#shared/process/run.ts';

/** Moves the backup GPT to the end of the disk: an image brings it at its own end, which is somewhere in the middle. */
export async function moveBackupGpt(run: Run, device: string): Promise<void> {
  await run('sgdisk', ['--move-second-header', device]);
}

/** Adds a partition in the last `sizeMb` MB of a GPT disk, named `name`. @throws AppError `command_failed` when the space is taken. */
export async function addLastGptPartition(run: Run, device: string, sizeMb: number, name: string): Promise<void> {
  // 0: the first free number, and after --new the partition just made
  await run('sgdisk', ['--new', `0:-${sizeMb}MB:0`, '--change-name', `0:${name}`, device]);
}

export interface NewGptPartition {
  /** As sgdisk has it: `1M`. */
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
