import { basename } from 'node:path';
import type { AgentContext } from '#agent/context.ts';
import { readAtaSecurity, unlockAta } from '#agent/erase/ata-security.ts';
import { type ChosenDisks, chooseDisks, isDisk, isErasable, leftAlone, nameDisk } from '#agent/erase/choose-disks.ts';
import { awaitSanitize } from '#agent/erase/nvme.ts';
import { probeContents, requireNoSharedFileSystems } from '#agent/erase/probe-contents.ts';
import { requireNoSharedStorage, requireNoTwins, requireUnusedDisks } from '#agent/erase/require-erasable.ts';
import { readPci } from '#agent/machine/inventory-pci.ts';
import { stopArraysOn } from '#agent/raid/delete-arrays.ts';
import { systemRoots } from '#agent/storage/device-identity.ts';
import { type BlockDevice, listBlockDevices } from '#agent/storage/lsblk.ts';
import type { ReadBytes } from '#agent/storage/lvm-label.ts';
import { addNvmeNamespaces } from '#agent/storage/nvme-namespaces.ts';
import { addRestingArrays } from '#agent/storage/resting-arrays.ts';
import { surveyStorage } from '#agent/storage/storage-claims.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { findOsDisks } from '#shared/disks/find-os-disks.ts';
import { protectedDevices, readSkipList, warnOfUnmetEntries } from '#shared/disks/skip-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { EraseOptions } from '#shared/in-band/erase-options.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import { type EraseResult, type OsDisk, type SkippedDisk, skipReasons } from '#shared/wire/erase-result.ts';

export type PrepareContext = Pick<AgentContext, 'run' | 'clock' | 'log' | 'signal' | 'node' | 'reportProgress'>;

/** The machine's block devices and what stands on them; another machine only in tests. */
export interface MachineDisks {
  readonly list: (run: Run) => Promise<readonly BlockDevice[]>;
  /** A running array writes its superblocks again as long as it runs, and holds its members. */
  readonly stopArraysOn: (run: Run, disks: readonly BlockDevice[], log: Log) => Promise<unknown>;
  /** Storage controllers without a driver, in words; `null`: not known. Absent where a test has no such hardware. */
  readonly undrivenStorage?: (run: Run, log: Log) => Promise<readonly string[] | null>;
}

export const machineDisks: MachineDisks = {
  list: async (run) => addNvmeNamespaces(run, await listBlockDevices(run, systemRoots, { withEmpty: true })),
  stopArraysOn,
  undrivenStorage: async (run, log) => (await readPci(run, log)).baton_undriven_storage,
};

export interface DisksToErase {
  readonly disks: readonly BlockDevice[];
  /** All that must stay as it is. */
  readonly kept: readonly BlockDevice[];
  readonly skipped: readonly SkippedDisk[];
  readonly remarks: EraseRemarks;
}

/** Remarks of the step's result beside its disks. */
export type EraseRemarks = Required<Pick<EraseResult, 'protection' | 'warnings'>>;

/**
 * The disks of this machine that may be erased, free of whatever used them. Everything that stands against erasing one
 * of them is found before anything is touched; but passwords and sanitizes that an erase left are ended first.
 * @throws AppError `storage_error`, `invalid_argument` naming disk or key.
 */
export async function prepareDisks(
  context: PrepareContext,
  options: EraseOptions & { readonly skipUnusable?: boolean },
  machine: MachineDisks = machineDisks,
): Promise<DisksToErase> {
  const { devices, disks, skipped, remarks } = await surveyDisks(context, options, machine);
  const kept = devices.filter((device) => skipped.some((each) => each.device === device.name));
  await freeDisks(context, { disks, kept }, options, machine);
  for (const each of skipped) context.log.info(each, 'disk is left alone');
  return { disks, kept, skipped, remarks };
}

/** All of the machine's devices, and which of its disks may be erased. @throws AppError as `prepareDisks` */
async function surveyDisks(
  { run, node, log }: PrepareContext,
  options: Parameters<typeof chooseDisks>[2],
  machine: MachineDisks,
): Promise<ChosenDisks & Pick<DisksToErase, 'remarks'> & { readonly devices: readonly BlockDevice[] }> {
  // one that can't be understood stops it before the machine is looked at
  readSkipList(node.properties);
  await waitForUdev(run);
  const devices = await addRestingArrays(run, node.properties, await machine.list(run));
  const protection = protectedDevices(node.properties, devices);
  const isProtected = new Set(protection.flatMap((each) => each.devices));
  const warnings = [...warnOfUnmetEntries(protection), ...(await warnOfUndrivenStorage(machine, run, log))];
  for (const each of protection) log.info(each, 'an entry of the skip list protects these devices');
  for (const warning of warnings) log.warn(warning);
  return {
    devices,
    remarks: { protection, warnings },
    ...chooseDisks(devices, ({ name }) => isProtected.has(name), options),
  };
}

/** Warns of storage controllers that may hold disks which nobody sees. */
async function warnOfUndrivenStorage(machine: MachineDisks, run: Run, log: Log): Promise<readonly string[]> {
  if (machine.undrivenStorage === undefined) return [];
  const undriven = await machine.undrivenStorage(run, log);
  return undriven ?? ['The PCI devices could not be listed: whether a storage controller has no driver is not known'];
}

/**
 * Takes the disks away from whatever uses them, once nothing stands against it.
 * @param requireMore asked when the disks can be read
 * @throws AppError `storage_error` naming the disk; an error must not leave some disks wiped for no reason
 */
async function freeDisks(
  context: PrepareContext,
  { disks, kept }: Pick<DisksToErase, 'disks' | 'kept'>,
  options: Pick<EraseOptions, 'wipeSharedFileSystems'>,
  machine: MachineDisks,
  requireMore?: () => Promise<void>,
): Promise<void> {
  // even reviving changes the disk behind a second path
  requireNoTwins(disks, kept);
  requireUnusedDisks(disks, kept);
  await Promise.all(disks.map((disk) => reviveDisk(context, disk)));
  await requireMore?.();
  if (!options.wipeSharedFileSystems) requireNoSharedFileSystems(await probeContents(context.run, disks));
  await machine.stopArraysOn(context.run, disks, context.log);
}

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
  const { devices, remarks, ...chosen } = await surveyDisks(
    context,
    { skipReadOnly: true, skipUnusable: true },
    machine,
  );
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
  return { disks, kept, skipped, remarks };
}

/**
 * Brings a disk back on which an erase broke off, before anything reads or writes it: an ATA disk that is locked with
 * our password answers nothing, and an NVMe controller goes on sanitizing after a restart. What can't be brought back
 * is logged: the ways to erase that need no access still come, and say what is wrong where they fail too.
 * @throws AppError `aborted`.
 */
export async function reviveDisk(
  services: Pick<AgentContext, 'run' | 'clock' | 'log' | 'signal' | 'reportProgress'>,
  disk: BlockDevice,
): Promise<void> {
  const { run, log, signal } = services;
  const name = basename(disk.name);
  try {
    if (/^sd[a-z]+$/.test(name)) {
      const security = await readAtaSecurity(run, disk.name);
      if (!security?.enabled && !security?.locked) return;
      await unlockAta(run, disk.name, security);
      log.warn({ disk: disk.name, serial: disk.serial }, 'an erase broke off here: its password is removed');
    } else if (/^nvme\d+n\d+$/.test(name)) {
      const state = await awaitSanitize(services, disk.name, (share) =>
        services.reportProgress({
          phase: `${nameDisk(disk)} still sanitizes: ${Math.floor(share * 100)} %`.slice(0, 100),
        }),
      );
      if (state === 'failed') log.warn({ disk: disk.name, serial: disk.serial }, 'its latest sanitize has failed');
    }
  } catch (error) {
    if (signal.aborted) throw error;
    log.warn(
      { err: error, disk: disk.name, serial: disk.serial },
      'the disk could not be asked about an earlier erase, or not be brought back from it',
    );
  }
}
