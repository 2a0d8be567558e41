import { readdir, readFile, readlink } from 'node:fs/promises';

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly directory: string;
}

/**
 * A process, all that it has started, and what works in `directory` or has been started by that: a PostgreSQL that goes
 * on without the conductor that has started it has its data directory as its working directory.
 */
export async function processTree(pid: number, directory: string): Promise<number[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = (await Promise.all(names.map(readProcess))).filter((each) => each !== undefined);
  const tree = all.filter((each) => each.pid === pid || `${each.directory}/`.startsWith(`${directory}/`));
  for (const { pid: parent } of tree) {
    tree.push(...all.filter((each) => each.parent === parent && !tree.includes(each)));
  }
  return tree.map((each) => each.pid);
}

/** Megabytes of memory, what several share counted once: the sum of proportional set sizes. */
export async function proportionalMegabytes(pids: readonly number[]): Promise<number> {
  const rollups = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(ended)));
  const kilobytes = rollups.map((text) => Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0));
  return Math.round((kilobytes.reduce((sum, each) => sum + each, 0) * 1024) / 1e5) / 10;
}

async function readProcess(name: string): Promise<Process | undefined> {
  // a program's name may have spaces and brackets
  const fields = (await readFile(`/proc/${name}/stat`, 'utf8').catch(ended)).split(') ').at(-1)?.split(' ') ?? [];
  // nobody may look at that of some, a container's first process for one
  const directory = await readlink(`/proc/${name}/cwd`).catch(() => '');
  return fields.length > 1 ? { pid: Number(name), parent: Number(fields[1]), directory } : undefined;
}

/** Between two looks a process may end. */
function ended(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT' || error.code === 'ESRCH') return '';
  throw error;
}
