import type { AgentContext } from '#agent/context.ts';
import { type ChosenDisks, chooseDisks } from '#agent/erase/choose-disks.ts';
import type { EraseOptions } from '#agent/erase/erase-options.ts';
import { probeContents, requireNoSharedFileSystems } from '#agent/erase/probe-contents.ts';
import { requireUnusedDisks } from '#agent/erase/require-unused-disks.ts';
import { reviveDisk } from '#agent/erase/revive-disk.ts';
import { requireNoTwins } from '#agent/erase/twin-disks.ts';
import { stopArraysOn } from '#agent/raid/delete-arrays.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { systemRoots } from '#agent/storage/device-identity.ts';
import { listBlockDevices } from '#agent/storage/list-block-devices.ts';
import { addNvmeNamespaces } from '#agent/storage/nvme-namespaces.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { readSkipList } from '#shared/disks/choose-root-device.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { SkippedDisk } from '#shared/wire/erase-result.ts';

export type PrepareContext = Pick<AgentContext, 'run' | 'clock' | 'log' | 'signal' | 'node' | 'reportProgress'>;

/** The machine's block devices and what stands on them; another machine only in tests. */
export interface MachineDisks {
  readonly list: (run: Run) => Promise<readonly BlockDevice[]>;
  /** A running array writes its superblocks again as long as it runs, and holds its members. */
  readonly stopArraysOn: (run: Run, disks: readonly BlockDevice[], log: Log) => Promise<unknown>;
}

export const machineDisks: MachineDisks = {
  list: async (run) => addNvmeNamespaces(run, await listBlockDevices(run, systemRoots, { withEmpty: true })),
  stopArraysOn,
};

export interface DisksToErase {
  readonly disks: readonly BlockDevice[];
  /** All that must stay as it is. */
  readonly kept: readonly BlockDevice[];
  readonly skipped: readonly SkippedDisk[];
}

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
  const { devices, disks, skipped } = await surveyDisks(context, options, machine);
  const kept = devices.filter((device) => skipped.some((each) => each.device === device.name));
  await freeDisks(context, { disks, kept }, options, machine);
  for (const each of skipped) context.log.info(each, 'disk is left alone');
  return { disks, kept, skipped };
}

/** All of the machine's devices, and which of its disks may be erased. @throws AppError as `prepareDisks` */
export async function surveyDisks(
  { run, node }: PrepareContext,
  options: Parameters<typeof chooseDisks>[2],
  machine: MachineDisks,
): Promise<ChosenDisks & { readonly devices: readonly BlockDevice[] }> {
  const isSkipped = readSkipList(node.properties);
  await waitForUdev(run);
  const devices = await machine.list(run);
  return { devices, ...chooseDisks(devices, isSkipped, options) };
}

/**
 * Takes the disks away from whatever uses them, once nothing stands against it.
 * @param requireMore asked when the disks can be read
 * @throws AppError `storage_error` naming the disk; an error must not leave some disks wiped for no reason
 */
export async function freeDisks(
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
