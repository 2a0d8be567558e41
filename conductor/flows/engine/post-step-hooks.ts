import { z } from 'zod';
import { rememberInBandSettings } from '#conductor/flows/bmc/bios-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { stepKey } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { withCapability } from '#conductor/nodes/boot/boot-mode.ts';
import { trustedOsDisk } from '#conductor/nodes/boot/os-disk.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { hasSoftwareRaid } from '#shared/raid/target-raid-config.ts';

interface EndedStep {
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly step: FlowStepRow;
  /** Answer of the step. */
  readonly output: unknown;
  readonly now: Date;
}

type Hook = (node: NodeRow, ended: EndedStep) => Partial<Pick<NodeRow, 'raidConfig' | 'properties'>>;

const LogicalDisk = z.looseObject({
  size_gb: z.union([z.number(), z.literal('MAX')]),
  raid_level: z.string(),
  is_root_volume: z.boolean().optional(),
  root_device_hint: z.record(z.string(), z.unknown()).optional(),
});
const RaidResult = z.looseObject({ logical_disks: z.array(LogicalDisk).min(1) });

/** Remembers what has been built as `raid_config`, its root volume as the root device (agent-protocol.md §5.4). */
const rememberRaid: Hook = (node, { step, output, now }) => {
  const parsed = RaidResult.safeParse(output);
  if (!parsed.success) {
    throw new AppError(
      'agent_error',
      `${stepKey(step)} didn't return a proper command result: it must have built at least one logical disk`,
    );
  }
  const root = parsed.data.logical_disks.find((disk) => disk.is_root_volume) ?? parsed.data.logical_disks[0];
  return {
    raidConfig: { ...parsed.data, last_updated: now.toISOString() },
    ...(root?.root_device_hint ? { properties: rootProperties(node.properties, root) } : {}),
  };
};

function rootProperties(properties: JsonObject, root: z.infer<typeof LogicalDisk>): JsonObject {
  return {
    ...properties,
    root_device: root.root_device_hint,
    ...(typeof root.size_gb === 'number' ? { local_gb: root.size_gb } : {}),
    capabilities: withCapability(properties['capabilities'], 'raid_level', root.raid_level),
  };
}

const forgetRaid: Hook = (node) => {
  const properties = { ...node.properties };
  delete properties['root_device'];
  return { raidConfig: {}, properties };
};

/**
 * Arrays are gone with their members. What hardware RAID has built outlives what was on it; and of a machine whose local
 * storage is preserved, only the array with the operating system is gone.
 */
const forgetWipedRaid: Hook = (node, ended) => {
  const isGone =
    ended.flow.wipe?.preserveLocalStorage === true ? node.osDisk?.array_uuid : hasSoftwareRaid(node.raidConfig);
  return isGone ? forgetRaid(node, ended) : {};
};

/** By kind of list and step, as in Ironic; `apply_configuration` of a service too, which Ironic forgets. */
const hooks: Readonly<Record<string, Hook>> = {
  'deploy raid.apply_configuration': rememberRaid,
  'service raid.apply_configuration': rememberRaid,
  'service raid.create_configuration': rememberRaid,
  'clean raid.create_configuration': rememberRaid,
  'clean raid.delete_configuration': forgetRaid,
  'service raid.delete_configuration': forgetRaid,
  'wipe deploy.wipe_disks': forgetWipedRaid,
};

function hookOf({ flow, step }: Pick<EndedStep, 'flow' | 'step'>): Hook | undefined {
  return hooks[`${flow.kind === 'manual_clean' ? 'clean' : flow.kind} ${stepKey(step)}`];
}

/** The step's end changes the node, which has to be read again for the steps after it. */
export function changesNode(ended: Pick<EndedStep, 'flow' | 'step'>): boolean {
  return hookOf(ended) !== undefined;
}

/**
 * Applies what a step's end means for the node, recorded with the end itself.
 * @throws AppError `agent_error`: the step has not answered what its hook needs, and has failed.
 */
export async function applyPostStepHook(tx: Transaction, ended: EndedStep): Promise<void> {
  if (ended.step.inBand && ended.step.interface === 'bios')
    await rememberInBandSettings(tx, { ...ended, nodeUuid: ended.node.uuid });
  const hook = hookOf(ended);
  if (!hook) return;
  const node = await getNode(tx, ended.node.uuid);
  const osDisk = await trustedOsDisk(tx, node);
  await updateNode(tx, node.uuid, hook({ ...node, osDisk }, ended));
}
