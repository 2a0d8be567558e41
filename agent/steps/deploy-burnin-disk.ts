import { z } from 'zod';
import { burnInDisks } from '#agent/burnin/burn-in-disks.ts';
import { readDiskSettings } from '#agent/burnin/burnin-settings.ts';
import type { AgentContext } from '#agent/context.ts';
import { defineStep } from '#shared/steps/define-step.ts';

export const burninDisk = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'burnin_disk',
  priorities: { clean: 0 },
  destroys: 'all',
  description:
    'Writes all disks full and compares, their data is lost (driver_info agent_burnin_fio_disk_loops, _runtime, _smart_test)',
  abortable: true,
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await burnInDisks(context, readDiskSettings(context.node)) }),
});
