import type { AgentContext } from '#agent/context.ts';
import { identityOf, nameDisk } from '#agent/erase/choose-disks.ts';
import { type EraseServices, eraseDisk, type OnErased, readAbilities } from '#agent/erase/erase-disk.ts';
import { createProgress, eraseEach } from '#agent/erase/erase-disks.ts';
import { planErase } from '#agent/erase/erase-methods.ts';
import { type EraseRemarks, type MachineDisks, machineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import { sharesHardware } from '#agent/erase/require-erasable.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { wipeDisk } from '#agent/storage/wipe-disk.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { type EraseOptions, readEraseOptions } from '#shared/in-band/erase-options.ts';
import type { Run } from '#shared/process/run.ts';
import type { ErasedDisk, EraseResult, SkippedDisk } from '#shared/wire/erase-result.ts';

/**
 * Erases what can be erased within seconds, and the metadata of all disks.
 * @throws AppError `storage_error` naming each disk that could not even be made to look empty; `aborted`.
 */
export async function eraseAllDisksFast(
  context: AgentContext,
  machine: MachineDisks = machineDisks,
): Promise<EraseResult> {
  const options = readEraseOptions(context.node);
  const { disks, kept, skipped, remarks } = await prepareDisks(context, options, machine);
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  const onErased = createProgress(context, disks);
  const erased = await eraseEach(context, disks, options.concurrency, (disk) =>
    eraseFast(context, disk, sharesHardware(disk, kept), options, onErased(disk)),
  );
  const after = new Map((await machine.list(context.run)).map((device) => [device.name, device]));
  for (const disk of disks) await verifyLooksEmpty(context.run, after.get(disk.name) ?? disk);
  return { erased, skipped, ...remarks };
}

async function eraseFast(
  services: EraseServices,
  disk: BlockDevice,
  isShared: boolean,
  options: EraseOptions,
  onErased: OnErased,
): Promise<ErasedDisk> {
  const startedAt = services.clock.now().getTime();
  const abilities = await readAbilities(services, disk, isShared);
  const fast = planErase(abilities, options).filter(({ kind }) => kind === 'nvme_format' || kind === 'discard');
  const result = await eraseData(services, disk, fast, options, onErased);
  if (typeof result !== 'string') return result;
  await eraseMetadata(services.run, disk);
  onErased('metadata', disk.sizeBytes, disk.sizeBytes);
  return {
    ...identityOf(disk),
    method: 'metadata',
    bytes: 0,
    seconds: (services.clock.now().getTime() - startedAt) / 1000,
    proof: null,
    ...(result === '' ? {} : { tried: [result] }),
  };
}

/** The erased disk, or why it must be content with less: the step does not promise more. */
async function eraseData(
  services: EraseServices,
  disk: BlockDevice,
  ...[methods, options, onErased]: [Parameters<typeof eraseDisk>[2], EraseOptions, OnErased]
): Promise<ErasedDisk | string> {
  if (methods.length === 0) return '';
  try {
    return await eraseDisk(services, disk, methods, { ...options, continueIfSecureEraseFailed: true }, onErased);
  } catch (error) {
    if (services.signal.aborted) throw error;
    return errorChain(error);
  }
}

/** The names of the disks that were wiped. `machine` is asked again for its devices afterwards. */
export async function eraseAllMetadata(
  context: Omit<AgentContext, 'imagePolicy' | 'ports'>,
  machine: MachineDisks = machineDisks,
): Promise<EraseRemarks & { readonly erased: readonly string[]; readonly skipped: readonly SkippedDisk[] }> {
  const { run, log } = context;
  // a read-only disk is no reason here: its metadata can't have been written by this machine's tenant either; nor is one
  // without capacity, for its data would stay anyway
  const options = { ...readEraseOptions(context.node), skipReadOnly: true, skipUnusable: true };
  const { disks, skipped, remarks } = await prepareDisks(context, options, machine);
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  for (const disk of disks) {
    context.reportProgress({ phase: `erasing metadata of ${disk.name}` });
    log.info({ disk: disk.name, partitions: disk.partitions.length }, 'erasing metadata');
    await eraseMetadata(run, disk);
  }
  const after = new Map((await machine.list(run)).map((device) => [device.name, device]));
  for (const disk of disks) await verifyLooksEmpty(run, after.get(disk.name) ?? disk);
  return { erased: disks.map(({ name }) => name), skipped, ...remarks };
}

/** Makes a disk look empty. @throws AppError `storage_error` naming the disk. */
async function eraseMetadata(run: Run, disk: BlockDevice): Promise<void> {
  try {
    await wipeDisk(run, disk);
  } catch (cause) {
    throw new AppError('storage_error', `erase the metadata of ${nameDisk(disk)}`, { cause });
  }
}

/** @throws AppError `storage_error` naming what is still recognised on the disk. */
async function verifyLooksEmpty(run: Run, disk: BlockDevice): Promise<void> {
  const { stdout } = await run('wipefs', ['--noheadings', '--output', 'OFFSET,TYPE', disk.name]);
  const found = [
    ...stdout.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' ')),
    ...disk.partitions.map(({ name }) => `partition ${name}`),
  ].filter(Boolean);
  if (found.length > 0) {
    throw new AppError('storage_error', `${disk.name} still shows ${found.join(', ')} after its metadata was erased`);
  }
}
