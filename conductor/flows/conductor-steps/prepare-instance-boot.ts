import { z } from 'zod';
import { saysItLacks } from '#conductor/agents/agent-client.ts';
import { callAgent } from '#conductor/agents/ask-agent.ts';
import type { BootDeviceSetting } from '#conductor/drivers/interfaces.ts';
import { checkCommand, resumeStarted, sendCommand } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { hasSucceeded, stepsOf } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { setInstanceBootDevice } from '#conductor/nodes/boot/boot-device.ts';
import { bootModeOf } from '#conductor/nodes/boot/boot-mode.ts';
import { isPartitionImage } from '#conductor/nodes/boot/image-info.ts';
import { runsFromRamdisk } from '#conductor/nodes/boot/ramdisk-instance.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { writesNoImage } from '#conductor/nodes/node-interfaces.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
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

/**
 * Boots once the loader is installed; what the agent could not do, though it expects the machine to boot, stands in the
 * step and in the node's history.
 */
async function bootOnceInstalled(context: StepContext, outcome: ConductorStepOutcome): Promise<ConductorStepOutcome> {
  if (outcome.kind !== 'done') return outcome;
  const warnings = (Warned.safeParse(outcome.output).data?.warnings ?? []).map(context.hide);
  const installed = warnings.map((warning) => `the boot loader is installed, with a warning: ${warning}`);
  const next = await setFrom(context, 'disk');
  return bootSet(context, {
    ...next,
    warnings: [...warnings, ...next.warnings],
    events: [...installed, ...next.events],
  });
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

/** Reads the UUIDs in an agent's words, `image (demo) written to device /dev/sda root_uuid=… efi_system_partition_uuid=…` */
function uuidsIn(written: string): z.infer<typeof PartitionUuids> {
  const uuidOf = (name: string): string | null => {
    const uuid = new RegExp(`\\b${name}=(\\S+)`).exec(written)?.[1];
    return uuid === undefined || uuid === 'None' || /^0x0+$/.test(uuid) ? null : uuid;
  };
  return { 'root uuid': uuidOf('root_uuid'), 'efi system partition uuid': uuidOf('efi_system_partition_uuid') };
}

/**
 * Checks whether the written system needs a boot loader from the agent. Ironic looks only at `target_raid_config`, which a
 * RAID made by a deploy step never had.
 */
function needsBootLoader(node: NodeRow): boolean {
  return (
    hasSoftwareRaid(node.raidConfig) || hasSoftwareRaid(node.targetRaidConfig) || isPartitionImage(node.instanceInfo)
  );
}

/** Gives the operator's UUID of a whole-disk image's root on software RAID, where a disk's identifier finds nothing. */
function rootUuidOf(node: NodeRow): string | undefined {
  const uuid = node.instanceInfo['image_rootfs_uuid'];
  return typeof uuid === 'string' && uuid !== '' ? uuid : undefined;
}

/** Synchronous commands answer `{"result": …}` or the bare value. */
function unwrap(result: unknown): unknown {
  return typeof result === 'object' && result !== null && 'result' in result ? result.result : result;
}

interface BootSet {
  readonly kept: Pick<NodeRow, 'renewedBootDevice'>;
  readonly warnings: readonly string[];
  /** For the node's history. */
  readonly events: readonly string[];
}

/** Sets what the machine boots from, from now on. @throws AppError as the BMC does */
export async function bootFrom(context: StepContext, device: 'disk' | 'pxe'): Promise<ConductorStepOutcome> {
  return bootSet(context, await setFrom(context, device));
}

async function setFrom(context: StepContext, device: 'disk' | 'pxe'): Promise<BootSet> {
  const { node, signal } = context;
  try {
    const kept = await setInstanceBootDevice(context.bmc(), device, { node, signal });
    const isNew = kept.renewedBootDevice !== null && kept.renewedBootDevice !== node.renewedBootDevice;
    const once = `the BMC takes ${device} for one boot only: Baton sets it again before each boot that it makes, and at any other the firmware's own order decides`;
    return { kept, warnings: [], events: isNew ? [once] : [] };
  } catch (error) {
    if (device !== 'disk' || !(await hasBootEntry(context))) throw error;
    await requireLeftAlone(context, error);
    const warning = `the BMC does not set disk as boot device, and the boot entry that the agent has written decides: ${context.hide(errorChain(error))}`;
    return { kept: { renewedBootDevice: null }, warnings: [warning], events: [warning] };
  }
}

/**
 * Checks whether the machine boots by UEFI's own order, whose first entry is the agent's: UEFI-only boards have no override
 * of the boot device, and need none.
 */
async function hasBootEntry(context: StepContext): Promise<boolean> {
  const { node } = context;
  if (bootModeOf(node) !== 'uefi') return false;
  return !writesNoImage(node) || hasSucceeded(context, 'write_image');
}

/** @throws AppError unless the BMC has said no, and shows nothing else that would come before the boot entry */
async function requireLeftAlone(context: StepContext, refusal: unknown): Promise<void> {
  if (!['not_supported', 'bmc_error'].includes(errorCode(refusal))) throw refusal;
  const { bootDevice, other } = await readBootDevice(context, refusal);
  const first = other ?? bootDevice;
  if (first === undefined || first === 'disk') return;
  const what = `set disk as boot device: the BMC shows ${first}, which the machine would boot first; clear it at the BMC`;
  throw new AppError(errorCode(refusal), what, { cause: refusal });
}

async function readBootDevice(context: StepContext, refusal: unknown): Promise<BootDeviceSetting> {
  try {
    return await context.bmc().management.getBootDevice({ signal: context.signal });
  } catch {
    context.signal.throwIfAborted();
    throw refusal;
  }
}

function bootSet(context: StepContext, { kept, warnings, events }: BootSet): ConductorStepOutcome {
  const { node, log, config, flow } = context;
  if (warnings.length > 0) log.warn({ node: node.uuid, warnings }, 'the instance is to boot, with warnings');
  if (events.length === 0 && kept.renewedBootDevice === node.renewedBootDevice) return { kind: 'done' };
  return {
    kind: 'done',
    ...(warnings.length > 0 ? { output: { warnings } } : {}),
    record: async (tx) => {
      for (const event of events) {
        const conductor = config.conductorName;
        await addHistory(tx, {
          nodeUuid: node.uuid,
          eventType: 'provisioning',
          event,
          conductor,
          ...requestIdsOf(flow),
        });
      }
      return kept;
    },
  };
}

/**
 * Refuses, before the disk is touched, a machine that can't boot from a disk, where only the boot device leads to the
 * written one.
 * @throws AppError `not_supported` naming what the machine offers
 */
export async function requireDiskBoot(context: StepContext): Promise<void> {
  const { node, signal } = context;
  if (runsFromRamdisk(node) || (bootModeOf(node) === 'uefi' && !writesNoImage(node))) return;
  await context.bmc().management.checkBootDevice?.('disk', { signal });
}

export const prepareInstanceBoot: ConductorStep = {
  interface: 'deploy',
  step: 'prepare_instance_boot',
  description: 'Has the agent install boot loaders and boot entries where needed; boots from disk from now on.',
  run,
  resume: async (context) => bootOnceInstalled(context, await checkCommand(context, command)),
};
