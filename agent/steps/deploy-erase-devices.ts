import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { eraseAllDisks } from '#agent/erase/erase-disks.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/**
 * Leaves nothing readable on any disk: NVMe format or sanitize, ATA secure erase, discard where the disk then reads as
 * zeros, overwriting (agent-protocol.md §6.6). Each disk is proved by samples.
 */
export const eraseDevices = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'erase_devices',
  priority: 0,
  description: 'Erases all data on all disks, by the best means of each, and proves it by what can be read back',
  abortable: true,
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await eraseAllDisks(context) }),
});
