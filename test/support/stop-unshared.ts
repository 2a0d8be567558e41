import { readFile } from 'node:fs/promises';
import type { RunningProcess } from '#shared/process/run.ts';

/**
 * Sends a signal to the program that `unshare --fork` runs: unshare keeps signals to itself, and its own end does not reach a
 * program that has changed its user.
 * @returns the exit code
 */
export async function stopUnshared({ pid, exited }: RunningProcess, signal: NodeJS.Signals): Promise<number> {
  const program = Number(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => ''));
  if (program !== 0) process.kill(program, signal);
  return exited;
}
