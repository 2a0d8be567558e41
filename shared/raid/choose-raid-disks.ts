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
 * The disks of one volume: all, or for each of its hints the first by name that no other hint has taken.
 * @param index place in `logical_disks`
 * @param disks those that may be used, by name
 * @throws AppError `invalid_argument` for bad hints; `storage_error` for want of disks.
 */
export function chooseRaidDisks<D extends Disk>(volume: LogicalDisk, index: number, disks: readonly D[]): readonly D[] {
  const field = `logical_disks[${index}]`;
  const chosen: D[] = volume.physical_disks ? [] : [...disks];
  for (const [place, hint] of (volume.physical_disks ?? []).entries()) {
    const source = `${field}.physical_disks[${place}]`;
    const tests = parseHints(hint as Readonly<Record<string, unknown>>, source);
    const found = disks.find((disk) => !chosen.includes(disk) && mismatches(disk, tests).length === 0);
    if (!found) {
      const left = disks.filter((disk) => !chosen.includes(disk));
      const reasons = left.map((disk) => `${disk.name} (${mismatches(disk, tests).join('; ')})`);
      throw new AppError(
        'storage_error',
        `no disk is left that matches ${source} ${JSON.stringify(hint)}: ${reasons.join(', ') || 'all are taken'}`,
      );
    }
    chosen.push(found);
  }
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
