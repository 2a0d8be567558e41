import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { deleteArrays } from '#agent/raid/delete-arrays.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Removes software RAID (agent-protocol.md §7). */
export const deleteRaidConfiguration = defineStep<AgentContext, Record<string, never>>({
  interface: 'raid',
  step: 'delete_configuration',
  priorities: { clean: 0, service: 0 },
  destroys: 'all',
  abortable: true,
  description: 'Stops all software RAID arrays and wipes the disks that held nothing else',
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await deleteArrays(context) }),
});
