import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { applyRaid } from '#agent/raid/run-raid-step.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Software RAID in cleaning, from what the node is to have (agent-protocol.md §7). */
export const createRaidConfiguration = defineStep<AgentContext, Record<string, never>>({
  interface: 'raid',
  step: 'create_configuration',
  priorities: { clean: 0, service: 0 },
  destroys: 'all',
  abortable: true,
  description: "Makes software RAID of the node's target_raid_config, on disks without partitions",
  args: z.strictObject({}),
  run: async (context) => ({
    kind: 'done',
    output: await applyRaid(context, context.node.target_raid_config ?? {}, {
      source: 'target_raid_config',
      deleteExisting: false,
    }),
  }),
});
