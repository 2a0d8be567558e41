import { nameDisk } from '#agent/erase/choose-disks.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import type { StorageClaim, StorageSurvey } from '#agent/storage/storage-claims.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
