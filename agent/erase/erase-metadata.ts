import { nameDisk } from '#agent/erase/choose-disks.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { wipeDisk } from '#agent/storage/wipe-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Makes a disk look empty. @throws AppError `storage_error` naming the disk. */
export async function eraseMetadata(run: Run, disk: BlockDevice): Promise<void> {
  try {
    await wipeDisk(run, disk);
  } catch (cause) {
    throw new AppError('storage_error', `erase the metadata of ${nameDisk(disk)}`, { cause });
  }
}

/** @throws AppError `storage_error` naming what is still recognised on the disk. */
export async function verifyLooksEmpty(run: Run, disk: BlockDevice): Promise<void> {
  const { stdout } = await run('wipefs', ['--noheadings', '--output', 'OFFSET,TYPE', disk.name]);
  const found = [
    ...stdout.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' ')),
    ...disk.partitions.map(({ name }) => `partition ${name}`),
  ].filter(Boolean);
  if (found.length > 0) {
    throw new AppError('storage_error', `${disk.name} still shows ${found.join(', ')} after its metadata was erased`);
  }
}
