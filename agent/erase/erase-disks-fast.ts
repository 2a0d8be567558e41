import type { AgentContext } from '#agent/context.ts';
import { type EraseServices, eraseDisk, type OnErased, readAbilities } from '#agent/erase/erase-disk.ts';
import { eraseEach } from '#agent/erase/erase-each.ts';
import { eraseMetadata, verifyLooksEmpty } from '#agent/erase/erase-metadata.ts';
import { planErase } from '#agent/erase/erase-methods.ts';
import { type EraseOptions, readEraseOptions } from '#agent/erase/erase-options.ts';
import { createProgress } from '#agent/erase/erase-progress.ts';
import { type MachineDisks, machineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import { sharesHardware } from '#agent/erase/twin-disks.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { ErasedDisk, EraseResult } from '#shared/wire/erase-result.ts';

/**
 * Erases what can be erased within seconds, and the metadata of all disks.
 * @throws AppError `storage_error` naming each disk that could not even be made to look empty; `aborted`.
 */
export async function eraseAllDisksFast(
  context: AgentContext,
  machine: MachineDisks = machineDisks,
): Promise<EraseResult> {
  const options = readEraseOptions(context.node);
  const { disks, kept, skipped } = await prepareDisks(context, options, machine);
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  const onErased = createProgress(context, disks);
  const erased = await eraseEach(context, disks, options.concurrency, (disk) =>
    eraseFast(context, disk, sharesHardware(disk, kept), options, onErased(disk)),
  );
  const after = new Map((await machine.list(context.run)).map((device) => [device.name, device]));
  for (const disk of disks) await verifyLooksEmpty(context.run, after.get(disk.name) ?? disk);
  return { erased, skipped };
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
    device: disk.name,
    serial: disk.serial,
    wwn: disk.wwn,
    model: disk.model,
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
