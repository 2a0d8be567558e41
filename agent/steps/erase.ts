import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { eraseAllDisks, eraseDisks } from '#agent/erase/erase-disks.ts';
import { eraseAllDisksFast, eraseAllMetadata } from '#agent/erase/erase-disks-fast.ts';
import { erasePstore } from '#agent/erase/erase-pstore.ts';
import { prepareOsDisk } from '#agent/erase/prepare-disks.ts';
import { readEraseOptions } from '#shared/in-band/erase-options.ts';
import { defineStep } from '#shared/steps/define-step.ts';
import { EraseArgs, type EraseResult, eraseStep } from '#shared/wire/erase-result.ts';

/** Disks that erase themselves take hours, and some are never opened again when they lose power amid it. */
const selfEraseSeconds = 12 * 3600;

/**
 * Leaves nothing readable on any disk, or on those of the operating system alone: NVMe format or sanitize, ATA secure
 * erase, discard where the disk then reads as zeros, overwriting (agent-protocol.md §6.6). Each disk is proved by samples.
 */
const eraseDevices = defineStep<AgentContext, EraseArgs>({
  ...eraseStep,
  priorities: { clean: 10 },
  destroys: 'all',
  description: 'Erases all disks, by the best means of each, and proves it by what can be read back',
  abortable: true,
  mustNotLosePower: selfEraseSeconds,
  args: EraseArgs,
  run: async (context, { only }) => {
    const options = readEraseOptions(context.node);
    const output: EraseResult = only
      ? await eraseDisks(context, options, await prepareOsDisk(context, options, only))
      : await eraseAllDisks(context);
    return { kind: 'done', output };
  },
});

/** Step of what takes seconds: NVMe format and discard, and of all disks the metadata. */
const eraseDevicesExpress = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'erase_devices_express',
  priorities: { clean: 0 },
  destroys: 'all',
  description: 'Erases disks that can do so at once (NVMe format, discard), and only the metadata of the others',
  abortable: true,
  mustNotLosePower: selfEraseSeconds,
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await eraseAllDisksFast(context) }),
});

/**
 * Makes every disk look empty: signatures of partitions and disks, both copies of the partition table, RAID
 * superblocks, the first and the last MiB. What the disks hold stays readable to who searches for it.
 */
const eraseDevicesMetadata = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'erase_devices_metadata',
  priorities: { deploy: 0, clean: 99 },
  destroys: 'all',
  description: 'Wipes partition tables, file system signatures and RAID superblocks of all disks',
  abortable: true,
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await eraseAllMetadata(context) }),
});

/** Step that erases what a crashed kernel left in the machine's non-volatile memory: it may hold a tenant's data. */
const erasePstoreStep = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'erase_pstore',
  priorities: { clean: 0 },
  destroys: 'none',
  description: 'Removes crash logs from the firmware (/sys/fs/pstore)',
  abortable: false,
  args: z.strictObject({}),
  run: async ({ run }) => ({ kind: 'done', output: { removed: await erasePstore(run) } }),
});

export const eraseSteps = [eraseDevices, eraseDevicesExpress, eraseDevicesMetadata, erasePstoreStep] as const;
