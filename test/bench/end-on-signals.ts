import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#shared/clock.ts';
import { processTree } from '#test/bench/process-tree.ts';

const everyMs = 100;

/**
 * A bench that is asked to end takes along what it has started, conductors with their PostgreSQL among it: in order, and by
 * force once its time is over. Gives it a folder for what is temporary, where a server that outlived its conductor is found.
 */
export function endOnSignals(graceMs = 15_000): void {
  const folder = mkdtempSync(join(tmpdir(), 'bb-'));
  chmodSync(folder, 0o1777); // PostgreSQL runs as another user
  process.env['TMPDIR'] = folder;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      process.stderr.write(`bench: ended by ${signal}\n`);
      void endAll(folder, graceMs).finally(() => process.exit(128 + constants.signals[signal]));
    });
  }
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

async function endAll(folder: string, graceMs: number): Promise<void> {
  const until = performance.now() + graceMs;
  const asked = new Set<number>();
  for (;;) {
    const left = (await processTree(process.pid, folder)).filter((pid) => pid !== process.pid);
    if (left.length === 0) return;
    const isOver = performance.now() > until;
    for (const pid of left) if (isOver || !asked.has(pid)) kill(pid, isOver ? 'SIGKILL' : 'SIGTERM');
    for (const pid of left) asked.add(pid);
    await systemClock.sleep(everyMs);
  }
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended meanwhile
  }
}
