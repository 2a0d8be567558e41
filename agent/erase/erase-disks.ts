import type { AgentContext } from '#agent/context.ts';
import { chooseDisks, nameDisk } from '#agent/erase/choose-disks.ts';
import { eraseDisk, type OnErased, readAbilities } from '#agent/erase/erase-disk.ts';
import { planErase } from '#agent/erase/erase-methods.ts';
import { type EraseOptions, readEraseOptions } from '#agent/erase/erase-options.ts';
import { probeContents, refuseSharedFileSystems } from '#agent/erase/probe-contents.ts';
import { refuseUsedDisks } from '#agent/erase/refuse-used-disks.ts';
import { reviveDisk } from '#agent/erase/revive-disk.ts';
import { diskKey, refuseTwins, sharesHardware } from '#agent/erase/twin-disks.ts';
import { stopArraysOn } from '#agent/raid/delete-arrays.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { systemRoots } from '#agent/storage/device-identity.ts';
import { listBlockDevices } from '#agent/storage/list-block-devices.ts';
import { addNvmeNamespaces } from '#agent/storage/nvme-namespaces.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { readSkipList } from '#shared/disks/skip-list.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { ErasedDisk, EraseResult, SkippedDisk } from '#shared/wire/erase-result.ts';

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
  context: Pick<AgentContext, 'run' | 'clock' | 'log' | 'signal' | 'node' | 'reportProgress'>,
  options: EraseOptions & { readonly skipUnusable?: boolean },
  machine: MachineDisks = machineDisks,
): Promise<DisksToErase> {
  const { run, log } = context;
  const isSkipped = readSkipList(context.node.properties);
  await waitForUdev(run);
  const devices = await machine.list(run);
  const { disks, skipped } = chooseDisks(devices, isSkipped, options);
  const kept = devices.filter((device) => skipped.some((each) => each.device === device.name));
  // even reviving changes the disk behind a second path
  refuseTwins(disks, kept);
  await Promise.all(disks.map((disk) => reviveDisk(context, disk)));
  if (!options.wipeSharedFileSystems) refuseSharedFileSystems(await probeContents(run, disks));
  // before the first disk is touched: an error must not leave some disks wiped for no reason
  refuseUsedDisks(disks, kept);
  await machine.stopArraysOn(run, disks, log);
  for (const each of skipped) log.info(each, 'disk is left alone');
  return { disks, kept, skipped };
}

/**
 * Erases all disks of the machine, some at the same time, each by the best way it offers.
 * @throws AppError `storage_error` naming each disk that could not be erased, after the others are done; `aborted`.
 */
export async function eraseAllDisks(context: AgentContext, machine: MachineDisks = machineDisks): Promise<EraseResult> {
  const options = readEraseOptions(context.node);
  return eraseDisks(context, options, await prepareDisks(context, options, machine));
}

/** Erases disks that were prepared for it, see `eraseAllDisks`. */
export async function eraseDisks(
  context: AgentContext,
  options: EraseOptions,
  { disks, kept, skipped }: DisksToErase,
): Promise<EraseResult> {
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  const onErased = createProgress(context, disks);
  const eraseOne = async (disk: BlockDevice): Promise<ErasedDisk> => {
    const abilities = await readAbilities(context, disk, sharesHardware(disk, kept));
    return eraseDisk(context, disk, planErase(abilities, options), options, onErased(disk));
  };
  return { erased: await eraseEach(context, disks, options.concurrency, eraseOne), skipped };
}

/**
 * Runs `eraseOne` (or another work of which `verb` tells) for each disk, `concurrency` at a time; what is one piece of
 * hardware (`diskKey`) comes one after the other.
 * @throws AppError `storage_error` naming the disks that failed, after all have ended.
 */
export async function eraseEach<T>(
  context: Pick<AgentContext, 'log' | 'signal'>,
  disks: readonly BlockDevice[],
  concurrency: number,
  eraseOne: (disk: BlockDevice) => Promise<T>,
  verb = 'erase',
): Promise<readonly T[]> {
  const waiting = [...Map.groupBy(disks, diskKey).values()];
  const done = new Map<string, T>();
  const failures: { readonly disk: BlockDevice; readonly error: unknown }[] = [];
  const work = async (): Promise<void> => {
    for (let group = waiting.shift(); group; group = waiting.shift()) {
      for (const disk of group) {
        if (context.signal.aborted) throw new AppError('aborted', `${verb} was stopped`);
        try {
          done.set(disk.name, await eraseOne(disk));
        } catch (error) {
          failures.push({ disk, error });
        }
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, waiting.length) }, work));
  if (failures.length > 0) {
    const each = failures.map(({ disk, error }) => `${nameDisk(disk)}: ${errorChain(error)}`);
    const rest = done.size > 0 ? `; done: ${[...done.keys()].join(', ')}` : '';
    throw new AppError(context.signal.aborted ? 'aborted' : 'storage_error', `${verb} ${each.join('; ')}${rest}`, {
      details: { failed: failures.map(({ disk }) => disk.name), done: [...done.keys()] },
    });
  }
  return disks.flatMap(({ name }) => done.get(name) ?? []);
}

/** Adds the disks up for the operator's eyes. */
export function createProgress(
  context: Pick<AgentContext, 'reportProgress'>,
  disks: readonly BlockDevice[],
): (disk: BlockDevice) => OnErased {
  const state = new Map(disks.map((disk) => [disk.name, { method: 'waiting', done: 0, total: disk.sizeBytes }]));
  return (disk) => (method, done, total) => {
    state.set(disk.name, { method, done, total });
    const all = [...state.values()];
    const active = [...state].filter(([, each]) => each.done < each.total && each.method !== 'waiting');
    const shown = active.slice(0, 2).map(([name, each]) => `${name} (${each.method})`);
    const more = active.length > 2 ? ` and ${active.length - 2} more` : '';
    context.reportProgress({
      phase: `erasing ${shown.join(', ') || disk.name}${more}`.slice(0, 100),
      done_bytes: all.reduce((sum, each) => sum + each.done, 0),
      total_bytes: all.reduce((sum, each) => sum + each.total, 0),
    });
  };
}
