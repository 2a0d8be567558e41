import type { AgentContext } from '#agent/context.ts';
import { nameDisk } from '#agent/erase/choose-disks.ts';
import { readEraseOptions } from '#agent/erase/erase-options.ts';
import { type MachineDisks, machineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { wipeDisk } from '#agent/storage/wipe-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import type { SkippedDisk } from '#shared/wire/erase-result.ts';

/** The names of the disks that were wiped. `machine` is asked again for its devices afterwards. */
export async function eraseAllMetadata(
  context: Omit<AgentContext, 'imagePolicy' | 'ports'>,
  machine: MachineDisks = machineDisks,
): Promise<{ readonly erased: readonly string[]; readonly skipped: readonly SkippedDisk[] }> {
  const { run, log } = context;
  // a read-only disk is no reason here: its metadata can't have been written by this machine's tenant either; nor is one
  // without capacity, for its data would stay anyway
  const options = { ...readEraseOptions(context.node), skipReadOnly: true, skipUnusable: true };
  const { disks, skipped } = await prepareDisks(context, options, machine);
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  for (const disk of disks) {
    context.reportProgress({ phase: `erasing metadata of ${disk.name}` });
    log.info({ disk: disk.name, partitions: disk.partitions.length }, 'erasing metadata');
    await eraseMetadata(run, disk);
  }
  const after = new Map((await machine.list(run)).map((device) => [device.name, device]));
  for (const disk of disks) await verifyLooksEmpty(run, after.get(disk.name) ?? disk);
  return { erased: disks.map(({ name }) => name), skipped };
}

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
