import type { CommandNode } from '#agent/context.ts';
import { assembleArrays } from '#agent/storage/mdadm.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import type { Run } from '#shared/process/run.ts';
import { hasSoftwareRaid } from '#shared/raid/target-raid-config.ts';

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
