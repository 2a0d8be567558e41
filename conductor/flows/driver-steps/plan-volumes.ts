import type { NewRaidVolume, RaidController, RaidDrive, RaidVolume } from '#conductor/drivers/interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';
import {
  chooseRaidDisks,
  isSoftwareRaid,
  type LogicalDisk,
  type TargetRaidConfig,
} from '#shared/raid/target-raid-config.ts';

/** A logical disk, the drives that it is made of, and the volume that it is already. */
export interface PlannedVolume extends NewRaidVolume {
  readonly wanted: LogicalDisk;
  readonly existing: RaidVolume | undefined;
}

const gib = 1024 ** 3;

/** The fewest drives of each level, and how many of `count` hold data. */
const levels: Readonly<Record<string, { readonly least: number; readonly data: (count: number) => number }>> = {
  '0': { least: 1, data: (count) => count },
  '1': { least: 2, data: () => 1 },
  '5': { least: 3, data: (count) => count - 1 },
  '6': { least: 4, data: (count) => count - 2 },
  '1+0': { least: 4, data: (count) => count / 2 },
  '5+0': { least: 6, data: (count) => count - 2 },
  '6+0': { least: 8, data: (count) => count - 4 },
};

/**
 * Chooses drives for each logical disk, as if there were no volumes (pure): the same each time, so that what has been
 * made is found again after a crash. Those that name their drives choose first.
 * @throws AppError `invalid_argument` for what no controller can do; `storage_error` for want of drives.
 */
export function planVolumes(
  config: TargetRaidConfig,
  controllers: readonly RaidController[],
): readonly PlannedVolume[] {
  if (isSoftwareRaid(config)) {
    throw new AppError(
      'invalid_argument',
      "software RAID is made by the agent: set raid_interface to 'agent', or leave out controller 'software'",
    );
  }
  const taken = new Set<string>();
  const disks = config.logical_disks.map((wanted, index) => ({ wanted, index }));
  const order = [...disks].sort((a, b) => Number(!a.wanted.physical_disks) - Number(!b.wanted.physical_disks));
  const planned = new Map<number, PlannedVolume>();
  for (const { wanted, index } of order) {
    const volume = planVolume(wanted, index, { controllers, taken });
    for (const drive of volume.drives) taken.add(drive.path);
    planned.set(index, volume);
  }
  return disks.flatMap(({ index }) => planned.get(index) ?? []);
}

function planVolume(
  wanted: LogicalDisk,
  index: number,
  { controllers, taken }: { readonly controllers: readonly RaidController[]; readonly taken: ReadonlySet<string> },
): PlannedVolume {
  const field = `logical_disks[${index}]`;
  const { raid_level: level, controller: asked, size_gb: size } = wanted;
  if (!levels[level])
    throw invalid(`${field}.raid_level ${level} is none of a controller's: ${Object.keys(levels).join(', ')}`);
  if (wanted.share_physical_disks)
    throw invalid(`${field}.share_physical_disks: each volume has drives of its own here`);
  const able = controllers.filter(({ id }) => asked === undefined || id === asked);
  if (able.length === 0) {
    const ids = controllers.map(({ id }) => id).join(', ') || 'none';
    throw invalid(
      `${field}: ${asked === undefined ? 'the BMC shows no RAID controller' : `there is no controller ${asked}; there are ${ids}`}`,
    );
  }
  const reasons: string[] = [];
  let free: PlannedVolume | undefined;
  // the board's own controllers show drives and volumes, too, and can't be told from others where they say no levels
  for (const controller of able.toSorted((one, other) => Number(doesSay(other)) - Number(doesSay(one)))) {
    const drives = controller.levels.includes(level)
      ? chooseDrives(
          wanted,
          index,
          controller.drives.filter(({ path }) => !taken.has(path)),
        )
      : 'it does not do that level';
    if (typeof drives === 'string') {
      const lost = controller.unread?.length ? `; could not be read: ${controller.unread.join(', ')}` : '';
      reasons.push(`${controller.id}: ${drives}${lost}`);
      continue;
    }
    const existing = controller.volumes.find((volume) => volume.level === level && hasDrives(volume, drives));
    const sizeBytes = size === 'MAX' ? undefined : size * gib;
    const planned = { wanted, controller, level, drives, existing, name: wanted.volume_name, sizeBytes };
    if (existing) return planned;
    free ??= planned;
  }
  if (free) return free;
  throw new AppError('storage_error', `${field} (RAID ${level}, ${size} GiB) finds no drives: ${reasons.join('; ')}`);
}

function doesSay({ saysLevels }: RaidController): boolean {
  return saysLevels !== false;
}

/** The drives, or why there are none. */
function chooseDrives(wanted: LogicalDisk, index: number, free: readonly RaidDrive[]): readonly RaidDrive[] | string {
  const fitting = free.filter(
    (drive) =>
      (wanted.disk_type === undefined || drive.rotational === (wanted.disk_type === 'hdd')) &&
      (wanted.interface_type === undefined || drive.tran === wanted.interface_type),
  );
  const { physical_disks: physical } = wanted;
  if (!physical) return chooseAlike(wanted, fitting);
  const isNamed = physical.every((each) => typeof each === 'string');
  const chosen = isNamed
    ? fitting.filter(({ name }) => physical.includes(name))
    : chosenByHints(wanted, index, fitting);
  if (typeof chosen === 'string') return chosen;
  if (chosen.length < physical.length) return `of ${JSON.stringify(physical)} it has ${shown(chosen)} free`;
  return fits(wanted, chosen) ? chosen : `${shown(chosen)} are too few, or too small`;
}

function chosenByHints(
  wanted: LogicalDisk,
  index: number,
  drives: readonly RaidDrive[],
): readonly RaidDrive[] | string {
  try {
    return chooseRaidDisks(wanted, index, drives);
  } catch (error) {
    if (error instanceof AppError && error.code === 'storage_error') return error.message;
    throw error;
  }
}

/** Chooses drives of one kind; as few as the size needs, the smallest that do. */
function chooseAlike(wanted: LogicalDisk, drives: readonly RaidDrive[]): readonly RaidDrive[] | string {
  const kinds = Map.groupBy(drives, ({ rotational, tran }) => `${rotational} ${tran}`);
  const least = levels[wanted.raid_level]?.least ?? 1;
  for (const alike of kinds.values()) {
    const sorted = [...alike].sort(
      (a, b) => a.sizeBytes - b.sizeBytes || a.name.localeCompare(b.name, 'en', { numeric: true }),
    );
    const most = wanted.number_of_physical_disks ?? sorted.length;
    for (let count = wanted.number_of_physical_disks ?? least; count <= most; count += 1) {
      for (let from = 0; from + count <= sorted.length; from += 1) {
        const chosen = sorted.slice(from, from + count);
        if (fits(wanted, chosen)) return chosen;
      }
    }
  }
  return `free are ${shown(drives)}`;
}

function fits(wanted: LogicalDisk, drives: readonly RaidDrive[]): boolean {
  const level = levels[wanted.raid_level];
  if (!level || drives.length < level.least) return false;
  if (wanted.raid_level === '1+0' && drives.length % 2 !== 0) return false;
  const smallest = Math.min(...drives.map(({ sizeBytes }) => sizeBytes));
  return wanted.size_gb === 'MAX' || level.data(drives.length) * smallest >= wanted.size_gb * gib;
}

function hasDrives(volume: RaidVolume, drives: readonly RaidDrive[]): boolean {
  return volume.drives.length === drives.length && drives.every(({ path }) => volume.drives.includes(path));
}

function shown(drives: readonly RaidDrive[]): string {
  return drives.map(({ name, sizeBytes }) => `${name} (${Math.floor(sizeBytes / gib)} GiB)`).join(', ') || 'none';
}

function invalid(message: string): AppError {
  return new AppError('invalid_argument', message);
}
