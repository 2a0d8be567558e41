import type { AgentContext } from '#agent/context.ts';
import { nameDisk } from '#agent/erase/choose-disks.ts';
import { diskKey } from '#agent/erase/twin-disks.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

/**
 * Runs `eraseOne` (or another work of which `verb` tells) for each disk, `concurrency` at a time; what is one piece of
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
