import type { AgentContext } from '#agent/context.ts';
import { eraseDisk, readAbilities } from '#agent/erase/erase-disk.ts';
import { eraseEach } from '#agent/erase/erase-each.ts';
import { planErase } from '#agent/erase/erase-methods.ts';
import { type EraseOptions, readEraseOptions } from '#agent/erase/erase-options.ts';
import { createProgress } from '#agent/erase/erase-progress.ts';
import { type DisksToErase, type MachineDisks, machineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import { sharesHardware } from '#agent/erase/twin-disks.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import type { ErasedDisk, EraseResult } from '#shared/wire/erase-result.ts';

/**
 * Erases all disks of the machine, some at the same time, each by the best way it offers.
 * @throws AppError `storage_error` naming each disk that could not be erased, after the others are done; `aborted`.
 */
export async function eraseAllDisks(context: AgentContext, machine: MachineDisks = machineDisks): Promise<EraseResult> {
  const options = readEraseOptions(context.node);
  return eraseDisks(context, options, await prepareDisks(context, options, machine));
}

/** Erases disks that were prepared for it, see `eraseAllDisks`. */
export async function eraseDisks(
  context: AgentContext,
  options: EraseOptions,
  { disks, kept, skipped }: DisksToErase,
): Promise<EraseResult> {
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  const onErased = createProgress(context, disks);
  const eraseOne = async (disk: BlockDevice): Promise<ErasedDisk> => {
    const abilities = await readAbilities(context, disk, sharesHardware(disk, kept));
    return eraseDisk(context, disk, planErase(abilities, options), options, onErased(disk));
  };
  return { erased: await eraseEach(context, disks, options.concurrency, eraseOne), skipped };
}
