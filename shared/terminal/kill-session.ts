import { readdirSync, readFileSync } from 'node:fs';

/**
 * Sends a signal to every process of a session, leader and background jobs: what a person has started on a console must
 * not go on writing to a disk while the next step works on it. A process that has made a session of its own escapes;
 * it ends with the agent.
 */
export function killSession(session: number, signal: NodeJS.Signals): void {
  for (const pid of processesOf(session)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

function processesOf(session: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => sessionOf(pid) === session);
}

/** Field 6 of `/proc/PID/stat`; the second is the program's name in parentheses, which may contain anything. */
function sessionOf(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[3]);
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
