import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from '#test/lab/wait-until.ts';

/** The process of the private server below a conductor's data directory; `undefined` when there is none. */
export async function privateServerPid(dataDirectory: string): Promise<number | undefined> {
  const text = await readFile(join(dataDirectory, 'postgresql', 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  return Number.isNaN(pid) || !lives(pid) ? undefined : pid;
}

/** Ends the private server that a conductor left which was killed. */
export async function endLeftServer(dataDirectory: string): Promise<void> {
  const pid = await privateServerPid(dataDirectory);
  if (pid === undefined) return;
  process.kill(pid, 'SIGINT');
  await waitUntil('the private server to end', () => !lives(pid) || undefined, { timeoutMs: 240_000, everyMs: 50 });
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
