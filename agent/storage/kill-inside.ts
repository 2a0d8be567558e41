import { readdir, readlink } from 'node:fs/promises';

/**
 * Kills every process whose root folder is this one or below it: what a script has left running in a deployed system, a
 * service that its package manager started, would keep the system from being unmounted.
 * @returns how many there were
 */
export async function killInside(root: string, procFolder = '/proc'): Promise<number> {
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
