import type { CommandNode } from '#agent/context.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { listBlockDevices } from '#agent/storage/list-block-devices.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { readSkipList } from '#shared/disks/choose-root-device.ts';
import type { Run } from '#shared/process/run.ts';
import { isRaidCandidate } from '#shared/raid/target-raid-config.ts';

/**
 * The disks that RAID may be made of or removed from, by name: not those on the skip list, nor what can be pulled out,
 * is read-only or has no medium.
 * @throws AppError as `listBlockDevices` and `readSkipList`
 */
export async function listRaidDisks(run: Run, node: Pick<CommandNode, 'properties'>): Promise<readonly BlockDevice[]> {
  const isSkipped = readSkipList(node.properties);
  await waitForUdev(run);
  return (await listBlockDevices(run)).filter((device) => isRaidCandidate(device) && !isSkipped(device));
}
