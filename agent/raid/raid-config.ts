import type { CommandNode } from '#agent/context.ts';
import { volumeName } from '#agent/raid/plan-raid.ts';
import { type BlockDevice, listBlockDevices } from '#agent/storage/lsblk.ts';
import type { MdArray } from '#agent/storage/mdadm.ts';
import { addRestingArrays } from '#agent/storage/resting-arrays.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { findUnmetEntries, readSkipList, withoutProtected } from '#shared/disks/skip-list.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import { isRaidCandidate, type LogicalDisk, type TargetRaidConfig } from '#shared/raid/target-raid-config.ts';

/** Volume that was made of a logical disk, as the conductor keeps it in `raid_config`. */
export type CreatedDisk = LogicalDisk & {
  readonly volume_name: string;
  /** Hint of the root volume: finds it after any reboot. */
  readonly root_device_hint?: { readonly wwn: string };
  /** Ours: the array itself. */
  readonly baton_array: {
    readonly device: string;
    readonly uuid: string | null;
    readonly size_bytes: number;
    readonly members: readonly string[];
  };
};

export interface RaidConfig {
  readonly logical_disks: readonly CreatedDisk[];
}

/**
 * The target with what became of it. The root volume (the first where none is named) carries a root device hint by the
 * array's UUID, which this agent shows as its WWN: names of md devices change from boot to boot.
 * @param arrays in the order of the logical disks
 */
export function describeRaid(
  config: TargetRaidConfig,
  arrays: readonly (MdArray & { readonly sizeBytes: number })[],
): RaidConfig {
  const named = config.logical_disks.findIndex((disk) => disk.is_root_volume);
  const root = Math.max(named, 0);
  return {
    logical_disks: config.logical_disks.map((disk, index) => {
      const array = arrays[index];
      const uuid = array?.uuid ?? null;
      return {
        ...disk,
        volume_name: volumeName(disk, index),
        ...(index === root && uuid !== null ? { root_device_hint: { wwn: uuid } } : {}),
        baton_array: {
          device: array?.device ?? '',
          uuid,
          size_bytes: array?.sizeBytes ?? 0,
          members: array?.members ?? [],
        },
      };
    }),
  };
}

/**
 * The disks that RAID may be made of or removed from, by name: not those on the skip list, nor what can be pulled out,
 * is read-only or has no medium.
 * @param log where entries of the skip list that name nothing are told; absent where it was done before
 * @throws AppError as `listBlockDevices` and `readSkipList`
 */
export async function listRaidDisks(
  run: Run,
  node: Pick<CommandNode, 'properties'>,
  log?: Log,
): Promise<readonly BlockDevice[]> {
  readSkipList(node.properties);
  await waitForUdev(run);
  const devices = await addRestingArrays(run, node.properties, await listBlockDevices(run));
  for (const warning of findUnmetEntries(node.properties, devices)) log?.warn(warning);
  return withoutProtected(node.properties, devices).filter(isRaidCandidate);
}
