import { z } from 'zod';
import { boundedList } from '#shared/bounded-list.ts';
import { type Disk, isNoDisk } from '#shared/disks/disk.ts';
import { requireOnlyOne } from '#shared/disks/require-only-one.ts';
import { listMismatches, parseHints } from '#shared/disks/root-device-hints.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { firstIssues } from '#shared/errors/describe-issues.ts';

/** Levels that Ironic's grammar knows; software RAID has fewer (`softwareLevels`). */
const raidLevels = ['JBOD', '0', '1', '2', '5', '6', '1+0', '5+0', '6+0'] as const;

const physicalDisksRule = 'must be a list of names, or of at least two objects of disk hints';
const PhysicalDisks = z.union(
  [
    z.array(z.string()).min(1, { error: physicalDisksRule }),
    z.array(z.record(z.string(), z.unknown())).min(2, { error: physicalDisksRule }),
  ],
  { error: physicalDisksRule },
);

const LogicalDisk = z.strictObject({
  /** GiB, or all that is left. */
  size_gb: z.union([z.int().nonnegative(), z.literal('MAX')], { error: 'must be a whole number of GiB, or "MAX"' }),
  raid_level: z.enum(raidLevels, { error: `must be one of ${raidLevels.join(', ')}` }),
  volume_name: z.string().min(1).optional(),
  is_root_volume: z.boolean().optional(),
  share_physical_disks: z.boolean().optional(),
  disk_type: z.enum(['hdd', 'ssd']).optional(),
  interface_type: z.enum(['sata', 'scsi', 'sas']).optional(),
  number_of_physical_disks: z.int().positive().optional(),
  /** `software`: by the agent with md. */
  controller: z.string().optional(),
  physical_disks: PhysicalDisks.optional(),
});
export type LogicalDisk = z.infer<typeof LogicalDisk>;

/** More than any controller makes. */
const mostDisks = 256;

export const TargetRaidConfig = z.strictObject({
  logical_disks: boundedList(z.array(LogicalDisk).min(1, { error: 'must have at least one logical disk' }), mostDisks),
});
export type TargetRaidConfig = z.infer<typeof TargetRaidConfig>;

/**
 * Parses Ironic's target RAID grammar (agent-protocol.md §7): its schema, and the rules for what software RAID can do.
 * @param source what is being parsed, as the operator knows it: `target_raid_config`
 * @throws AppError `invalid_argument` naming every wrong field.
 */
export function parseTargetRaidConfig(value: unknown, source = 'target_raid_config'): TargetRaidConfig {
  const parsed = TargetRaidConfig.safeParse(value);
  if (!parsed.success) {
    throw refusal(
      source,
      firstIssues(parsed.error.issues, (issue) => `${fieldName(issue.path)} ${issue.message}`.trim()),
    );
  }
  const faults = [...generalFaults(parsed.data), ...softwareRaidFaults(parsed.data)];
  if (faults.length > 0) throw refusal(source, faults);
  return parsed.data;
}

function generalFaults({ logical_disks: disks }: TargetRaidConfig): readonly string[] {
  const roots = disks.flatMap((disk, index) => (disk.is_root_volume ? [`logical_disks[${index}]`] : []));
  return [
    ...(roots.length > 1 ? [`is_root_volume may be true for one logical disk, and is for ${roots.join(' and ')}`] : []),
    ...disks.flatMap((disk, index) =>
      disk.physical_disks && disk.controller === undefined
        ? [`logical_disks[${index}].physical_disks needs logical_disks[${index}].controller`]
        : [],
    ),
  ];
}

function refusal(source: string, faults: readonly string[]): AppError {
  return new AppError('invalid_argument', `${source} can't be used: ${faults.join('; ')}`);
}

function fieldName(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

/** Rules of what md can do here: pure, for conductor and agent alike (agent-protocol.md §7). */

/** The fewest disks of each level. */
const softwareLevels = { '0': 2, '1': 2, '1+0': 2, '5': 3, '6': 4 } as const;
export type SoftwareLevel = keyof typeof softwareLevels;

/** Names as md and its tools accept them: a name becomes a file name below /dev/md. */
const volumeNamePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,27}$/;
/** The array of the EFI system partitions is called so. */
const reservedNames: ReadonlySet<string> = new Set(['esp']);

/** Returns whether the agent is to make software RAID from this: any logical disk of the controller `software`. */
export function isSoftwareRaid(config: {
  readonly logical_disks: readonly Pick<LogicalDisk, 'controller'>[];
}): boolean {
  return config.logical_disks.some((disk) => disk.controller === 'software');
}

/** Returns whether a node's `raid_config` or `target_raid_config`, whatever is in it, speaks of software RAID. */
export function hasSoftwareRaid(value: unknown): boolean {
  const disks: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'logical_disks') : undefined;
  return (
    Array.isArray(disks) &&
    disks.some(
      (disk: unknown) => typeof disk === 'object' && disk !== null && Reflect.get(disk, 'controller') === 'software',
    )
  );
}

/**
 * Explains why software RAID can't be made so, each naming its field; empty when it can, or when it is not software RAID.
 */
function softwareRaidFaults(config: TargetRaidConfig): readonly string[] {
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

/** Returns whether RAID may be made of a disk: not of what can be pulled out, is read-only or has no medium. */
export function isRaidCandidate(disk: Disk): boolean {
  const isFixed = !disk.removable && disk.tran !== 'usb' && !disk.readOnly;
  return disk.type === 'disk' && !isNoDisk(disk.name) && isFixed && disk.sizeBytes > 0;
}

/**
 * Chooses the disks of one volume, by name: all, or for each of its hints one of its own, the first that fits unless that
 * would leave another hint without any (Ironic's agent then gives up). Refused where an identifier fits further disks.
 * @param index place in `logical_disks`
 * @param disks those that may be used, by name
 * @throws AppError `invalid_argument` for bad hints; `storage_error` for want of disks.
 */
export function chooseRaidDisks<D extends Disk>(volume: LogicalDisk, index: number, disks: readonly D[]): readonly D[] {
  const field = `logical_disks[${index}]`;
  const chosen = volume.physical_disks ? matchHints(volume.physical_disks, field, disks) : [...disks];
  const least = softwareLevels[volume.raid_level as SoftwareLevel];
  if (chosen.length < least) {
    const names = chosen.map(({ name }) => name).join(', ') || 'none';
    throw new AppError(
      'storage_error',
      `${field} is of level ${volume.raid_level}, which needs ${least} disks: there are ${chosen.length} (${names})`,
    );
  }
  return chosen;
}

function matchHints<D extends Disk>(
  hints: NonNullable<LogicalDisk['physical_disks']>,
  field: string,
  disks: readonly D[],
): readonly D[] {
  const wanted = hints.map((hint, place) => {
    const source = `${field}.physical_disks[${place}]`;
    const tests = parseHints(hint as Readonly<Record<string, unknown>>, source);
    return { source, hint, tests, reasons: new Map(disks.map((disk) => [disk, listMismatches(disk, tests)])) };
  });
  const takers = new Map<D, number>();
  /** Gives the hint a disk: a free one, else one whose taker finds another. */
  const take = (place: number, tried: Set<D>): boolean => {
    const fitting = disks.filter((disk) => wanted[place]?.reasons.get(disk)?.length === 0);
    const found =
      fitting.find((disk) => !takers.has(disk)) ??
      fitting.find((disk) => {
        if (tried.has(disk)) return false;
        tried.add(disk);
        return take(takers.get(disk) as number, tried);
      });
    if (found) takers.set(found, place);
    return found !== undefined;
  };
  for (const [place, { source, hint, reasons }] of wanted.entries()) {
    if (take(place, new Set())) continue;
    const seen = disks.map((disk) => `${disk.name} (${reasons.get(disk)?.join('; ') || 'taken by another hint'})`);
    throw new AppError(
      'storage_error',
      `no remaining disk matches ${source} ${JSON.stringify(hint)}: ${seen.join(', ') || 'there are no disks'}`,
    );
  }
  for (const [chosen, place] of takers) {
    const { source = '', tests = [], reasons } = wanted[place] ?? {};
    // those that other hints have taken belong to the volume, whichever hint has which
    const fitting = disks.filter((disk) => !takers.has(disk) && reasons?.get(disk)?.length === 0);
    requireOnlyOne({ chosen, fitting, hints: tests, source });
  }
  return disks.filter((disk) => takers.has(disk));
}
