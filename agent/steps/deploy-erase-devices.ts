import type { AgentContext } from '#agent/context.ts';
import { eraseAllDisks, eraseDisks } from '#agent/erase/erase-disks.ts';
import { readEraseOptions } from '#agent/erase/erase-options.ts';
import { prepareOsDisk } from '#agent/erase/prepare-os-disk.ts';
import { defineStep } from '#shared/steps/define-step.ts';
import { EraseArgs, type EraseResult, eraseStep } from '#shared/wire/erase-result.ts';

/**
 * Leaves nothing readable on any disk, or on those of the operating system alone: NVMe format or sanitize, ATA secure
 * erase, discard where the disk then reads as zeros, overwriting (agent-protocol.md §6.6). Each disk is proved by samples.
 */
export const eraseDevices = defineStep<AgentContext, EraseArgs>({
  ...eraseStep,
  priorities: { clean: 10 },
  destroys: 'all',
  description: 'Erases all data on all disks, by the best means of each, and proves it by what can be read back',
  abortable: true,
  args: EraseArgs,
  run: async (context, { only }) => {
    const options = readEraseOptions(context.node);
    const output: EraseResult = only
      ? await eraseDisks(context, options, await prepareOsDisk(context, options, only))
      : await eraseAllDisks(context);
    return { kind: 'done', output };
  },
});
