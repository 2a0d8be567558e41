import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** `npm run lab` stopped in the middle of a deploy, in the ways in which people and machines do that. */
test.each<{ signal: NodeJS.Signals; exitCode: number }>([
  { signal: 'SIGINT', exitCode: 130 },
  { signal: 'SIGTERM', exitCode: 130 },
  { signal: 'SIGKILL', exitCode: 137 },
])('nothing stays behind after $signal', async ({ signal, exitCode }) => {
  const lab = start(process.execPath, ['test/lab/main.ts']);
  const namespace = await untilTheMachineRuns(lab);
  const pids = (await run('ip', ['netns', 'pids', namespace])).stdout.split('\n').filter(Boolean);
  expect(pids.length).toBeGreaterThan(6);
  lab.kill(signal);
  expect(await lab.exited).toBe(exitCode);
  await waitUntil(`the end of ${namespace}`, async () =>
    (await run('ip', ['netns', 'list'])).stdout.includes(namespace) ? undefined : true,
  );
  const id = namespace.replace('baton-', '');
  await waitUntil(`the end of the lab's sockets`, () => (existsSync(`/run/baton-lab/${id}`) ? undefined : true));
  // one that was killed leaves the namespace before it is gone
  await expect.poll(() => pids.filter(isRunning)).toEqual([]);
  await expect.poll(() => existsSync(join('build/lab', id, 'node0-disk0.raw'))).toBe(false);
});

/** A process that has ended and that its parent has not asked about yet is a zombie: it is not running. */
function isRunning(pid: string): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Waits until the lab waits for a heartbeat, so that QEMU is up; returns its namespace. */
async function untilTheMachineRuns(lab: RunningProcess): Promise<string> {
  let output = '';
  lab.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  lab.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  let ended = false;
  void lab.exited.then(() => {
    ended = true;
  });
  const found = await waitUntil(
    'the lab to start its machine',
    () => {
      if (ended) throw new Error(`the lab ended: ${output}`);
      return output.includes('waits for first heartbeat') ? /namespace (baton-[0-9a-f]+)/.exec(output)?.[1] : undefined;
    },
    { timeoutMs: 10 * 60_000 },
  );
  return found;
}
