import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { deleteArrays } from '#agent/raid/delete-arrays.ts';
import { applyRaid } from '#agent/raid/run-raid-step.ts';
import { defineStep } from '#shared/steps/define-step.ts';

const Args = z.strictObject({
  raid_config: z
    .unknown()
    .refine((value) => value !== undefined, { error: 'must be given' })
    .describe('The target RAID configuration: {"logical_disks": […]}'),
  delete_existing: z
    .boolean()
    .default(true)
    .describe('Whether existing software RAID that differs from the configuration is deleted first; default true'),
});

/** The kernel's arrays survive a loss of power: a half-made one is deleted by the next try. */
const neverHarmful = 0;

/** Software RAID in a deploy or a service (agent-protocol.md §7). */
const applyRaidConfiguration = defineStep<AgentContext, z.infer<typeof Args>>({
  interface: 'raid',
  step: 'apply_configuration',
  priorities: { deploy: 0, service: 0 },
  destroys: 'all',
  mustNotLosePower: neverHarmful,
  description: 'Makes software RAID of the configuration given',
  args: Args,
  run: async (context, { raid_config: config, delete_existing: deleteExisting }) => ({
    kind: 'done',
    output: await applyRaid(context, config, { source: 'raid_config', deleteExisting }),
  }),
});

/** Software RAID in cleaning, from what the node is to have (agent-protocol.md §7). */
const createRaidConfiguration = defineStep<AgentContext, Record<string, never>>({
  interface: 'raid',
  step: 'create_configuration',
  priorities: { clean: 0, service: 0 },
  destroys: 'all',
  mustNotLosePower: neverHarmful,
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

/** Removes software RAID (agent-protocol.md §7). */
const deleteRaidConfiguration = defineStep<AgentContext, Record<string, never>>({
  interface: 'raid',
  step: 'delete_configuration',
  priorities: { clean: 0, service: 0 },
  destroys: 'all',
  mustNotLosePower: neverHarmful,
  abortable: true,
  description: 'Stops all software RAID arrays and wipes the disks that held nothing else',
  args: z.strictObject({}),
  run: async (context) => ({ kind: 'done', output: await deleteArrays(context) }),
});

export const raidSteps = [applyRaidConfiguration, createRaidConfiguration, deleteRaidConfiguration] as const;
