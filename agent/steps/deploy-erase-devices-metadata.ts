import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { eraseMetadata, verifyLooksEmpty } from '#agent/erase/erase-metadata.ts';
import { readEraseOptions } from '#agent/erase/erase-options.ts';
import { type MachineDisks, machineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import { defineStep } from '#shared/steps/define-step.ts';
import type { SkippedDisk } from '#shared/wire/erase-result.ts';

/**
 * Makes every disk look empty: signatures of partitions and disks, both copies of the partition table, RAID
 * superblocks, the first and the last MiB. What the disks hold stays readable to who searches for it.
 */
export const eraseDevicesMetadata = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'erase_devices_metadata',
  priorities: { deploy: 0, clean: 99 },
  destroys: 'all',
  description: 'Wipes partition tables, file system signatures and RAID superblocks of all disks',
  abortable: true,
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await eraseAllMetadata(context) }),
});

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
