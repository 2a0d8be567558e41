import { nameDisk } from '#agent/erase/choose-disks.ts';
import { nvmeController } from '#agent/erase/nvme.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import type { StorageClaim, StorageSurvey } from '#agent/storage/storage-claims.ts';
import { compareDisks, serialKey, wwnOf } from '#shared/disks/same-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Refuses to erase disks that something uses which is not a RAID array, or an array that a disk to be kept is in too.
 * @throws AppError `storage_error` naming disk and user.
 */
export function requireUnusedDisks(disks: readonly BlockDevice[], kept: readonly BlockDevice[]): void {
  for (const disk of disks) requireNotInUse(disk, kept);
}

function requireNotInUse(disk: BlockDevice, kept: readonly BlockDevice[]): void {
  if (disk.mountpoints.length > 0) {
    throw new AppError(
      'storage_error',
      `${nameDisk(disk)} is in use: mounted on ${disk.mountpoints.join(', ')}`,
      inUse(disk),
    );
  }
  for (const holder of disk.holders) {
    if (!holder.startsWith('/dev/md')) {
      throw new AppError(
        'storage_error',
        `${nameDisk(disk)} is in use by ${holder}, which is not a RAID array and can't be stopped`,
        inUse(disk),
      );
    }
    const sharer = kept.find(({ holders }) => holders.includes(holder));
    if (sharer) {
      throw new AppError(
        'storage_error',
        `${nameDisk(disk)} and ${nameDisk(sharer)}, which is skipped, are both members of ${holder}`,
        inUse(disk),
      );
    }
  }
}

/** The array of the EFI system partitions (`agent/boot/spread-esp.ts`), which is the operating system's own. */
const espArray = 'esp';

/**
 * Refuses to wipe the operating system's disks while that would harm what is to be kept: pure.
 * @param rootArray UUID of the array that the operating system was written to; `null` = a plain disk
 * @throws AppError `storage_error` naming what is shared and both disks, or the array.
 */
export function requireNoSharedStorage(
  survey: StorageSurvey,
  disks: readonly BlockDevice[],
  kept: readonly BlockDevice[],
  rootArray: string | null,
): void {
  const isOurs = (claim: StorageClaim): boolean => disks.some(({ name }) => name === claim.disk);
  const named = (claim: StorageClaim): string => {
    const disk = [...disks, ...kept].find(({ name }) => name === claim.disk);
    return disk ? nameDisk(disk) : claim.disk;
  };
  for (const claim of survey.claims.filter(isOurs)) {
    const shared = survey.claims.find((each) => !isOurs(each) && each.kind === claim.kind && each.id === claim.id);
    if (!shared) continue;
    throw refusal(
      `the ${claim.kind} ${claim.name} is on ${claim.device} of ${named(claim)}, which would be wiped, and on ` +
        `${shared.device} of ${named(shared)}, which is kept`,
    );
  }
  for (const group of survey.incomplete) {
    const others = isOurs(group) ? kept : disks;
    const hiding = others.find(({ name }) => survey.opaque.has(name));
    if (!hiding) continue;
    throw refusal(
      `the volume group ${group.name} on ${group.device} of ${named(group)} has physical volumes that can't be seen ` +
        `(${group.missing.join(', ')}): they may lie inside a volume on ${nameDisk(hiding)}`,
    );
  }
  if (rootArray !== null) requireOwnArrays(survey.claims.filter(isOurs), rootArray, named);
}

/** The disks are wiped whole: a second array on the root array's disks would go with it. */
function requireOwnArrays(
  claims: readonly StorageClaim[],
  rootArray: string,
  named: (claim: StorageClaim) => string,
): void {
  const other = claims.find(({ kind, id, name }) => kind === 'RAID array' && id !== rootArray && name !== espArray);
  if (!other) return;
  throw refusal(
    `the RAID array ${other.name} (${other.id}) is on ${other.device} of ${named(other)}, beside the operating system's ` +
      `array ${rootArray}, and would be lost`,
  );
}

function refusal(why: string): AppError {
  return new AppError(
    'storage_error',
    `${why}: local storage can't be preserved; nothing was touched. Wipe without preserving it, or move the data first`,
  );
}

/**
 * The same for what is one piece of hardware: namespaces of an NVMe subsystem, which a format or sanitize may hit all at
 * once, and the paths to a disk that the kernel lists twice (nothing joins paths in the ramdisk).
 */
export function diskKey(disk: BlockDevice): string {
  if (disk.tran === 'nvme' || /nvme\d+n\d+$/.test(disk.name)) return disk.nvmeSubsystem ?? nvmeController(disk.name);
  return identityOf(disk) ?? disk.name;
}

/** Whether a disk is one piece of hardware with another that must stay as it is. */
export function sharesHardware(disk: BlockDevice, kept: readonly BlockDevice[]): boolean {
  return kept.some((each) => diskKey(each) === diskKey(disk));
}

/**
 * Refuses to write to a disk that is also one to be kept, by another path: the skip list may name a path only.
 * @throws AppError `storage_error` naming both.
 */
export function requireNoTwins(disks: readonly BlockDevice[], kept: readonly BlockDevice[]): void {
  for (const disk of disks) {
    for (const each of kept) {
      const found = compareDisks(each, disk);
      if (found === 'same') {
        throw new AppError(
          'storage_error',
          `${nameDisk(disk)} would be erased and is the same disk as ${nameDisk(each)}, which is kept, by another ` +
            'path: name it by serial or wwn, which hold for all of its paths',
        );
      }
      if (found === 'unknown') {
        throw new AppError(
          'storage_error',
          `whether ${nameDisk(disk)}, which would be erased, is ${nameDisk(each)}, which is kept, by another path is not ` +
            `known (${disk.unread ?? each.unread}): nothing was touched. Try again`,
        );
      }
    }
  }
}

function identityOf(disk: BlockDevice): string | undefined {
  return wwnOf(disk) ?? serialKey(disk);
}

function inUse({ name }: Pick<BlockDevice, 'name'>) {
  return { situation: 'disk_in_use', subject: name } as const;
}
