import { z } from 'zod';
import { saysItLacks } from '#conductor/agents/agent-client.ts';
import { callAgent } from '#conductor/agents/ask-agent.ts';
import { checkCommand, resumeStarted, sendCommand } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { hasSucceeded, stepsOf } from '#conductor/flows/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { setInstanceBootDevice } from '#conductor/nodes/boot-device.ts';
import { bootModeOf } from '#conductor/nodes/boot-mode.ts';
import { isPartitionImage } from '#conductor/nodes/image-info.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { writesNoImage } from '#conductor/nodes/node-interfaces.ts';
import { hasSoftwareRaid } from '#shared/raid/target-raid-config.ts';

const PartitionUuids = z.looseObject({
  'root uuid': z.string().nullish(),
  'efi system partition uuid': z.string().nullish(),
  'PReP Boot partition uuid': z.string().nullish(),
});

const command = 'image.install_bootloader';

/** Ironic's agent of before 2020-06 answers only when its GRUB is installed. */
const installTimeoutMs = 300_000;

/**
 * The agent installs boot loaders where more is to be done than to boot from the disk (agent-protocol.md §6.4): on
 * software RAID, for partition images, and under UEFI. Under BIOS a whole-disk image's own boot sector is all there is.
 */
async function run(context: StepContext): Promise<ConductorStepOutcome> {
  const { node } = context;
  const bootMode = bootModeOf(node);
  // no agent has run: the node boots from a volume, which iPXE attaches each time
  if (!context.step.inBand) return bootFrom(context, 'pxe');
  // what a custom agent's steps have written is theirs to make bootable
  if (writesNoImage(node) && !(await hasSucceeded(context, 'write_image'))) return bootFrom(context, 'disk');
  if (bootMode === 'bios' && !needsBootLoader(node)) return bootFrom(context, 'disk');
  const outcome = (await resumeStarted(context, command)) ?? (await installBootloader(context, bootMode));
  return bootOnceInstalled(context, outcome);
}

const Warned = z.looseObject({ warnings: z.array(z.string()) });

/** What the agent could not do, though it expects the machine to boot, stands in the step and in the node's history. */
async function bootOnceInstalled(context: StepContext, outcome: ConductorStepOutcome): Promise<ConductorStepOutcome> {
  if (outcome.kind !== 'done') return outcome;
  const { node, log, hide } = context;
  const warnings = (Warned.safeParse(outcome.output).data?.warnings ?? []).map(hide);
  const next = await bootFrom(context, 'disk');
  if (next.kind !== 'done' || warnings.length === 0) return next;
  log.warn({ node: node.uuid, warnings }, 'boot loader installed, with warnings');
  return {
    kind: 'done',
    output: { warnings },
    record: async (tx) => {
      await addHistory(tx, {
        nodeUuid: node.uuid,
        eventType: 'provisioning',
        event: `the boot loader is installed, with a warning: ${warnings.join('; ')}`,
        conductor: context.config.conductorName,
      });
      return 'record' in next ? next.record(tx) : {};
    },
  };
}

async function installBootloader(context: StepContext, bootMode: string): Promise<ConductorStepOutcome> {
  const { node } = context;
  const uuids = await readPartitionUuids(context);
  return sendCommand(
    context,
    {
      name: command,
      params: {
        root_uuid: rootUuidOf(node) ?? uuids['root uuid'] ?? null,
        efi_system_part_uuid: uuids['efi system partition uuid'] ?? null,
        prep_boot_part_uuid: uuids['PReP Boot partition uuid'] ?? null,
        target_boot_mode: bootMode,
      },
    },
    installTimeoutMs,
  );
}

async function readPartitionUuids(context: StepContext): Promise<z.infer<typeof PartitionUuids>> {
  try {
    const found = await callAgent(context.agent(), "ask for the image's partitions", 'standby.get_partition_uuids');
    return PartitionUuids.safeParse(unwrap(found)).data ?? {};
  } catch (error) {
    // what was known before 2020-06 is in the answer to the write
    if (!saysItLacks(error, 'get_partition_uuids')) throw error;
    const written = (await stepsOf(context)).findLast(({ step }) => step === 'write_image')?.output;
    return uuidsIn(typeof written === 'string' ? written : '');
  }
}

/** `image (demo) written to device /dev/sda root_uuid=… efi_system_partition_uuid=…` */
function uuidsIn(written: string): z.infer<typeof PartitionUuids> {
  const uuidOf = (name: string): string | null => {
    const uuid = new RegExp(`\\b${name}=(\\S+)`).exec(written)?.[1];
    return uuid === undefined || uuid === 'None' || /^0x0+$/.test(uuid) ? null : uuid;
  };
  return { 'root uuid': uuidOf('root_uuid'), 'efi system partition uuid': uuidOf('efi_system_partition_uuid') };
}

/** Ironic looks only at `target_raid_config`, which a RAID made by a deploy step never had. */
function needsBootLoader(node: NodeRow): boolean {
  return (
    hasSoftwareRaid(node.raidConfig) || hasSoftwareRaid(node.targetRaidConfig) || isPartitionImage(node.instanceInfo)
  );
}

/** What the operator says of a whole-disk image on software RAID, where a disk's identifier finds nothing. */
function rootUuidOf(node: NodeRow): string | undefined {
  const uuid = node.instanceInfo['image_rootfs_uuid'];
  return typeof uuid === 'string' && uuid !== '' ? uuid : undefined;
}

/** Synchronous commands answer `{"result": …}` or the bare value. */
function unwrap(result: unknown): unknown {
  return typeof result === 'object' && result !== null && 'result' in result ? result.result : result;
}

/** Sets what the machine boots from, from now on. @throws AppError as the BMC does */
export async function bootFrom(context: StepContext, device: 'disk' | 'pxe'): Promise<ConductorStepOutcome> {
  const { node, signal } = context;
  const kept = await setInstanceBootDevice(context.bmc(), device, { node, signal });
  if (kept.renewedBootDevice === node.renewedBootDevice) return { kind: 'done' };
  return { kind: 'done', record: () => Promise.resolve(kept) };
}

export const prepareInstanceBoot: ConductorStep = {
  interface: 'deploy',
  step: 'prepare_instance_boot',
  description: 'Has the agent install boot loaders and boot entries where needed; boots from disk from now on.',
  run,
  resume: async (context) => bootOnceInstalled(context, await checkCommand(context, command)),
};
