import type { LogicalDisk, TargetRaidConfig } from '#shared/raid/target-raid-config.ts';

/** What md can do here: pure rules, for conductor and agent alike (agent-protocol.md §7). */

/** The fewest disks of each level. */
export const softwareLevels = { '0': 2, '1': 2, '1+0': 2, '5': 3, '6': 4 } as const;
export type SoftwareLevel = keyof typeof softwareLevels;

/** As md and its tools know the name: it becomes a file name below /dev/md. */
const volumeNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,27}$/;
/** The array of the EFI system partitions is called so. */
const reservedNames: ReadonlySet<string> = new Set(['esp']);

/** Whether the agent is to make software RAID from this: any logical disk of the controller `software`. */
export function isSoftwareRaid(config: {
  readonly logical_disks: readonly Pick<LogicalDisk, 'controller'>[];
}): boolean {
  return config.logical_disks.some((disk) => disk.controller === 'software');
}

/** Whether a node's `raid_config` or `target_raid_config`, whatever is in it, speaks of software RAID. */
export function hasSoftwareRaid(value: unknown): boolean {
  const disks: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'logical_disks') : undefined;
  return (
    Array.isArray(disks) &&
    disks.some(
      (disk: unknown) => typeof disk === 'object' && disk !== null && Reflect.get(disk, 'controller') === 'software',
    )
  );
}

/** Why software RAID can't be made so, each naming its field; empty when it can, or when it is not software RAID. */
export function softwareRaidFaults(config: TargetRaidConfig): readonly string[] {
  if (!isSoftwareRaid(config)) return [];
  const disks = config.logical_disks;
  return [...wholeFaults(disks), ...disks.flatMap((disk, index) => diskFaults(disk, index))];
}

function wholeFaults(disks: readonly LogicalDisk[]): readonly string[] {
  const names = disks.map((disk) => disk.volume_name).filter((name) => name !== undefined);
  const twice = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  const max = disks.flatMap((disk, index) => (disk.size_gb === 'MAX' ? [`logical_disks[${index}]`] : []));
  return [
    ...twice.map((name) => `volume_name "${name}" is used more than once`),
    // with disks of their own, several may take all that is left
    ...(max.length > 1 && disks.some((disk) => disk.physical_disks === undefined)
      ? [`size_gb may be "MAX" for one logical disk, and is for ${max.join(' and ')}`]
      : []),
    // whatever fails, the machine finds its boot files on any disk that is left
    ...(disks[0] && disks[0].raid_level !== '1'
      ? [`logical_disks[0].raid_level is ${disks[0].raid_level}: the first software RAID volume must be of level 1`]
      : []),
  ];
}

function diskFaults(disk: LogicalDisk, index: number): readonly string[] {
  const field = `logical_disks[${index}]`;
  const least = (softwareLevels as Readonly<Record<string, number>>)[disk.raid_level];
  const { physical_disks: physical, volume_name: name } = disk;
  return [
    ...(disk.controller === 'software' ? [] : [`${field}.controller must be "software" as the others'`]),
    ...(disk.size_gb === 0 ? [`${field}.size_gb must be above 0`] : []),
    ...(least === undefined
      ? [`${field}.raid_level ${disk.raid_level} is not a software RAID level; levels are ${levelNames}`]
      : []),
    ...(least !== undefined && physical !== undefined && physical.length < least
      ? [`${field}.physical_disks has ${physical.length} disks, level ${disk.raid_level} needs ${least}`]
      : []),
    ...(physical?.some((each) => typeof each === 'string')
      ? [`${field}.physical_disks must be objects of disk hints for software RAID, as {"size": ">= 100"}`]
      : []),
    ...(name !== undefined && (reservedNames.has(name) || !volumeNamePattern.test(name))
      ? [`${field}.volume_name "${name}" must be up to 28 letters, digits, "_", "." and "-", and not "esp"`]
      : []),
  ];
}

// integer-like keys of an object come first, whatever their place in the source
const levelNames = Object.keys(softwareLevels).join(', ');
