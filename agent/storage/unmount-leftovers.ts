import { readdir, readlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { mountsFolder, unmount } from '#agent/storage/mount.ts';
import { type Clock, systemClock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * Unmounts what an agent had mounted that died meanwhile: mounts outlive their process, and a disk with one is never
 * chosen nor erased. What can't be unmounted is logged; the step that needs the disk then fails and says so.
 * @param mountInfo text of `/proc/self/mountinfo`
 */
export async function unmountLeftovers(
  run: Run,
  mountInfo: string,
  log: Log,
  clock: Clock = systemClock,
): Promise<void> {
  for (const folder of mountedIn(mountInfo, mountsFolder)) {
    try {
      // a task of an earlier agent that still runs in there would run twice from now on
      await killInside(folder);
      await unmount(run, folder, clock);
      log.warn({ folder }, 'unmounted what an earlier agent had left');
    } catch (error) {
      log.error({ err: error, folder }, 'what an earlier agent had mounted could not be unmounted');
    }
  }
}

/** Mount points directly in `folder`, the last mounted first: pure. */
export function mountedIn(mountInfo: string, folder: string): readonly string[] {
  const points = mountInfo.split('\n').map((line) => line.split(' ')[4] ?? '');
  return [...new Set(points.filter((point) => dirname(point) === folder))].toReversed();
}

/**
 * Kills every process whose root folder is this one or below it: what a script has left running in a deployed system, a
 * service that its package manager started, would keep the system from being unmounted.
 * @returns how many there were
 */
async function killInside(root: string, procFolder = '/proc'): Promise<number> {
  const pids = (await readdir(procFolder)).filter((name) => /^\d+$/.test(name)).map(Number);
  const killed = await Promise.all(
    pids.map(async (pid) => {
      try {
        const itsRoot = await readlink(`${procFolder}/${pid}/root`);
        if (itsRoot !== root && !itsRoot.startsWith(`${root}/`)) return 0;
        process.kill(pid, 'SIGKILL');
        return 1;
      } catch {
        // it has ended meanwhile, or is a thread of the kernel
        return 0;
      }
    }),
  );
  return killed.reduce<number>((sum, one) => sum + one, 0);
}
