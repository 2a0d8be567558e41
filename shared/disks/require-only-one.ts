import type { Disk } from '#shared/disks/disk.ts';
import { exactText, type HintTest } from '#shared/disks/root-device-hints.ts';
import { compareDisks } from '#shared/disks/same-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Hints whose value should identify one disk; for others, such as size, the first disk that fits is meant. */
const identifying: ReadonlySet<string> = new Set(['by_path', 'name', 'serial', 'wwn', 'wwn_with_extension']);

interface Choice {
  readonly chosen: Disk;
  /** Disks that meet the hints, with or without the chosen one. */
  readonly fitting: readonly Disk[];
  readonly hints: readonly HintTest[];
  /** Place of the hints, for messages: `properties.root_device`. */
  readonly source: string;
}

/**
 * Refuses to guess which of several disks an identifier means: udev gives one path to several behind some expanders,
 * namespaces have their controller's serial number, and the volumes of some arrays have one WWN. Several paths to one disk
 * count as one. Pure.
 * @throws AppError `storage_error` naming the hints, the disks and what would tell them apart
 */
export function requireOnlyOne({ chosen, fitting, hints, source }: Choice): void {
  const naming = hints.filter(namesOne).map(({ field }) => `${source}.${field}`);
  const others = fitting.filter((each) => each !== chosen && compareDisks(chosen, each) !== 'same');
  if (naming.length === 0 || others.length === 0) return;
  const names = [chosen, ...others].map(({ name }) => name);
  throw new AppError(
    'storage_error',
    `${naming.join(' and ')} ${naming.length === 1 ? 'names' : 'name'} ${names.join(' and ')} alike: ` +
      'add a hint that one of them alone meets, such as serial, wwn or size',
    { situation: 'disk_choice' },
  );
}

/** Returns whether a hint gives one disk's identifier: no pattern, no choice of several, and not "none". */
function namesOne({ field, wanted }: HintTest): boolean {
  const value = exactText(wanted);
  return identifying.has(field) && value !== undefined && value !== 'none';
}
