import type { Disk } from '#shared/disks/disk.ts';
import { canonicalWwn, isPlaceholder, isPlaceholderWwn } from '#shared/disks/placeholders.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { DiskIdentity, OsDisk } from '#shared/wire/erase-result.ts';

/**
 * Finds the disks that were recorded, among those that are there: pure. All that is known of a recorded disk must agree, its
 * serial number or WWN among it, and name one disk: names of devices change, and two namespaces of an NVMe controller have
 * one serial number.
 * @throws AppError `storage_error` with what was looked for and which disks there are.
 */
export function findOsDisks<D extends Disk>(disks: readonly D[], { disks: recorded }: OsDisk): readonly D[] {
  const found = recorded.map((identity) => {
    if (!isIdentifying(identity)) {
      throw refusal(`it has neither serial number nor WWN by which it could be known again`, identity, disks);
    }
    const matching = disks.filter((disk) => isSame(disk, identity));
    const [disk] = matching;
    if (disk === undefined) throw refusal('it is not in this machine', identity, disks);
    if (matching.length > 1) {
      throw refusal(`it could be each of ${matching.map(({ name }) => name).join(', ')}`, identity, disks);
    }
    return disk;
  });
  const twice = found.find((disk, index) => found.indexOf(disk) !== index);
  if (twice) throw new AppError('storage_error', `${twice.name} was recorded twice as disk of the operating system`);
  return found;
}

/** An older release has recorded placeholders too. */
function isIdentifying({ serial, wwn, wwn_with_extension: extended }: DiskIdentity): boolean {
  return (
    (serial !== null && !isPlaceholder(serial)) ||
    [wwn, extended].some((each) => each !== null && !isPlaceholderWwn(each))
  );
}

/** An older release has recorded as serial number what is now one of several. */
function isSame(disk: Disk, identity: DiskIdentity): boolean {
  const serials = [disk.serial, ...disk.serials];
  const wwns = [disk.wwn, disk.wwnWithExtension, ...disk.wwns].map((wwn) => wwn && canonicalWwn(wwn));
  const hasWwn = (wwn: string | null): boolean =>
    wwn === null || isPlaceholderWwn(wwn) || wwns.includes(canonicalWwn(wwn));
  return (
    (identity.serial === null || isPlaceholder(identity.serial) || serials.includes(identity.serial)) &&
    hasWwn(identity.wwn) &&
    hasWwn(identity.wwn_with_extension) &&
    (identity.wwn_vendor_extension === null || identity.wwn_vendor_extension === disk.wwnVendorExtension) &&
    (identity.size === null || identity.size === disk.sizeBytes)
  );
}

function refusal(why: string, wanted: DiskIdentity, disks: readonly Disk[]): AppError {
  const there = disks.map((disk) => `${disk.name} (${describe(disk.serial, disk.wwn, disk.model, disk.sizeBytes)})`);
  return new AppError(
    'storage_error',
    `the disk of the operating system can't be identified: ${why}. Recorded at the deploy: ${wanted.name} ` +
      `(${describe(wanted.serial, wanted.wwn, wanted.model, wanted.size)}); the machine has ${there.join(', ') || 'no disk'}`,
  );
}

function describe(serial: string | null, wwn: string | null, model: string | null, size: number | null): string {
  const parts = [
    `serial ${serial ?? 'unknown'}`,
    `WWN ${wwn ?? 'unknown'}`,
    ...(model === null ? [] : [model]),
    ...(size === null ? [] : [`${size} bytes`]),
  ];
  return parts.join(', ');
}
