import { isDisk, isErasable, leftAlone, nameDisk } from '#agent/erase/choose-disks.ts';
import type { EraseOptions } from '#agent/erase/erase-options.ts';
import {
  type DisksToErase,
  freeDisks,
  type MachineDisks,
  machineDisks,
  type PrepareContext,
  surveyDisks,
} from '#agent/erase/prepare-disks.ts';
import { requireNoSharedStorage } from '#agent/erase/require-no-shared-storage.ts';
import type { ReadBytes } from '#agent/storage/lvm-label.ts';
import { surveyStorage } from '#agent/storage/storage-claims.ts';
import { findOsDisks } from '#shared/disks/find-os-disks.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type OsDisk, skipReasons } from '#shared/wire/erase-result.ts';

/** Another machine only in tests. */
export interface SurveyedMachine extends MachineDisks {
  readonly readBytes?: ReadBytes;
}

/**
 * The operating system's disks, free of whatever used them; all others are kept, and nothing of them is written: no
 * array on them is assembled (that alone would count an event in their superblocks) or stopped. Everything that stands
 * against it is found before anything is touched; but passwords and sanitizes that an erase left on these disks are
 * ended first.
 * @throws AppError `storage_error` naming the disk that was looked for, or what a disk to be kept shares with it.
 */
export async function prepareOsDisk(
  context: PrepareContext,
  options: EraseOptions,
  only: OsDisk,
  machine: SurveyedMachine = machineDisks,
): Promise<DisksToErase> {
  const { run, log } = context;
  const { devices, ...chosen } = await surveyDisks(context, { skipReadOnly: true, skipUnusable: true }, machine);
  const erasable = devices.filter(isErasable);
  const disks = findOsDisks(erasable, only);
  const kept = devices.filter(isDisk).filter((disk) => !disks.includes(disk));
  const refused = chosen.skipped.find(({ device }) => disks.some(({ name }) => name === device));
  if (refused) {
    throw new AppError(
      'storage_error',
      `the operating system's disk ${refused.device} can't be wiped: ${refused.reason}`,
    );
  }
  await freeDisks(context, { disks, kept }, options, machine, async () => {
    requireNoSharedStorage(await surveyStorage(run, erasable, machine.readBytes), disks, kept, only.array_uuid);
  });
  // what is dead today may be back at the next deploy, which must know that it is to be left alone
  const withReason = chosen.skipped.filter(({ reason }) => reason !== skipReasons.noCapacity);
  const preserved = kept
    .filter(({ name }) => !withReason.some(({ device }) => device === name))
    .map((disk) => leftAlone(disk, skipReasons.preserved));
  const skipped = [...withReason, ...preserved].sort((a, b) => (a.device < b.device ? -1 : 1));
  log.info({ disks: disks.map(nameDisk), kept: kept.map(nameDisk) }, 'local storage is preserved');
  return { disks, kept, skipped };
}
