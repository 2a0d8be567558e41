import type { AgentContext, CommandNode } from '#agent/context.ts';
import { readBootMode } from '#agent/machine/boot-mode.ts';
import { createArrays } from '#agent/raid/create-arrays.ts';
import { describeRaid, type RaidConfig } from '#agent/raid/raid-config.ts';
import { readCapability } from '#agent/storage/capabilities.ts';
import { runLsblk } from '#agent/storage/lsblk.ts';
import { assembleArrays } from '#agent/storage/mdadm.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import type { Run } from '#shared/process/run.ts';
import { hasSoftwareRaid, isSoftwareRaid, parseTargetRaidConfig } from '#shared/raid/target-raid-config.ts';

/**
 * Makes the software RAID that `value` asks for.
 * @param source what `value` is to the operator: `raid_config`, `target_raid_config`
 * @returns the created `raid_config`; `{}`, as Ironic's agent, when none of it is software RAID.
 * @throws AppError `invalid_argument` naming every wrong field; as `createArrays`.
 */
export async function applyRaid(
  context: AgentContext,
  value: unknown,
  { source, deleteExisting }: { readonly source: string; readonly deleteExisting: boolean },
): Promise<RaidConfig | Record<string, never>> {
  const config = parseTargetRaidConfig(value, source);
  if (!isSoftwareRaid(config)) return {};
  const arrays = await createArrays(context, config, { bootMode: await wantedBootMode(context.node), deleteExisting });
  const sizes = new Map(
    (
      await runLsblk(
        context.run,
        arrays.map(({ device }) => device),
      )
    ).map((each) => [each.name, each]),
  );
  return describeRaid(
    config,
    arrays.map((array) => ({ ...array, sizeBytes: sizes.get(array.device)?.sizeBytes ?? 0 })),
  );
}

/** The firmware that the deployed system will be started by: as asked for, else that of this ramdisk. */
async function wantedBootMode(node: CommandNode): Promise<'uefi' | 'bios'> {
  const asked = node.instance_info['deploy_boot_mode'] ?? readCapability(node, 'boot_mode');
  return asked === 'uefi' || asked === 'bios' ? asked : readBootMode();
}

const arrayUuid = /^(s==\s*)?[0-9a-f]{8}(:[0-9a-f]{8}){3}$/;

/** Whether the node's disk is an array: its RAID configuration says so, or a root device hint with an array's UUID. */
export function livesOnRaid(node: Pick<CommandNode, 'properties' | 'instance_info' | 'raid_config'>): boolean {
  const hints = [node.instance_info['root_device'], node.properties['root_device']];
  return (
    hasSoftwareRaid(node.raid_config) ||
    hints.some((hint) => {
      const wwn: unknown = typeof hint === 'object' && hint !== null ? Reflect.get(hint, 'wwn') : undefined;
      return typeof wwn === 'string' && arrayUuid.test(wwn);
    })
  );
}

/**
 * Assembles the arrays of a node that lives on RAID: after a reboot into the ramdisk nobody else does. On other nodes
 * arrays of earlier owners stay apart: they would hold the disk that is to be written.
 */
export async function assembleForNode(run: Run, node: Parameters<typeof livesOnRaid>[0]): Promise<void> {
  if (!livesOnRaid(node)) return;
  await waitForUdev(run);
  await assembleArrays(run);
  await waitForUdev(run);
}
