import type { Disk } from '#shared/disks/disk.ts';
import { mismatches, parseHints } from '#shared/disks/root-device-hints.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type SoftwareLevel, softwareLevels } from '#shared/raid/software-raid.ts';
import type { LogicalDisk } from '#shared/raid/target-raid-config.ts';

/** Whether RAID may be made of a disk: not of what can be pulled out, is read-only or has no medium. */
export function isRaidCandidate(disk: Disk): boolean {
  const isMemory = /^\/dev\/z?ram\d/.test(disk.name);
  const isFixed = !disk.removable && disk.tran !== 'usb' && !disk.readOnly;
  return disk.type === 'disk' && !isMemory && isFixed && disk.sizeBytes > 0;
}

/**
 * The disks of one volume, by name: all, or for each of its hints one of its own, the first that fits unless that would
 * leave another hint without any (Ironic's agent then gives up).
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
    return { source, hint, reasons: new Map(disks.map((disk) => [disk, mismatches(disk, tests)])) };
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
  return disks.filter((disk) => takers.has(disk));
}
