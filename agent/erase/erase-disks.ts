import type { AgentContext } from '#agent/context.ts';
import { nameDisk } from '#agent/erase/choose-disks.ts';
import { eraseDisk, type OnErased, readAbilities } from '#agent/erase/erase-disk.ts';
import { planErase } from '#agent/erase/erase-methods.ts';
import { type DisksToErase, type MachineDisks, machineDisks, prepareDisks } from '#agent/erase/prepare-disks.ts';
import { diskKey, sharesHardware } from '#agent/erase/require-erasable.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { type EraseOptions, readEraseOptions } from '#shared/in-band/erase-options.ts';
import { inParallel } from '#shared/in-parallel.ts';
import type { ErasedDisk, EraseResult } from '#shared/wire/erase-result.ts';

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
  { disks, kept, skipped, remarks }: DisksToErase,
): Promise<EraseResult> {
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  const onErased = createProgress(context, disks);
  const eraseOne = async (disk: BlockDevice): Promise<ErasedDisk> => {
    const abilities = await readAbilities(context, disk, sharesHardware(disk, kept));
    return eraseDisk(context, disk, planErase(abilities, options), options, onErased(disk));
  };
  return { erased: await eraseEach(context, disks, options.concurrency, eraseOne), skipped, ...remarks };
}

/**
 * Runs `eraseOne` (or other work, named by `verb`) for each disk, `concurrency` at a time; what is one piece of
 * hardware (`diskKey`) comes one after the other.
 * @throws AppError `storage_error` naming the disks that failed, after all have ended.
 */
export async function eraseEach<T>(
  { signal }: Pick<AgentContext, 'signal'>,
  disks: readonly BlockDevice[],
  concurrency: number,
  eraseOne: (disk: BlockDevice) => Promise<T>,
  verb = 'erase',
): Promise<readonly T[]> {
  const done = new Map<string, T>();
  const failures: { readonly disk: BlockDevice; readonly error: unknown }[] = [];
  const eraseGroup = async (group: readonly BlockDevice[]): Promise<void> => {
    for (const disk of group) {
      if (signal.aborted) throw new AppError('aborted', `${verb} was stopped`);
      try {
        done.set(disk.name, await eraseOne(disk));
      } catch (error) {
        failures.push({ disk, error });
      }
    }
  };
  await inParallel(Map.groupBy(disks, diskKey).values(), eraseGroup, { atOnce: concurrency });
  if (failures.length > 0) {
    const each = failures.map(({ disk, error }) => `${nameDisk(disk)}: ${errorChain(error)}`);
    const rest = done.size > 0 ? `; done: ${[...done.keys()].join(', ')}` : '';
    throw new AppError(signal.aborted ? 'aborted' : 'storage_error', `${verb} ${each.join('; ')}${rest}`, {
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
