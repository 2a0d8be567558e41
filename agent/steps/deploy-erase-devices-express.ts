import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { eraseAllDisksFast } from '#agent/erase/erase-disks-fast.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** What takes seconds: NVMe format and discard, and of all disks the metadata. */
export const eraseDevicesExpress = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'erase_devices_express',
  priorities: { clean: 0 },
  destroys: 'all',
  description: 'Erases disks that can do so at once (NVMe format, discard), and only the metadata of the others',
  abortable: true,
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await eraseAllDisksFast(context) }),
});
