import { chmodSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, type RunnerTestFile } from 'vitest';

/** Notes of a test file's worker for `times-reporter.ts`. */
declare module 'vitest' {
  interface TaskMeta {
    /** Seconds of the worker and of its children that have ended, all of them since the worker began. */
    cpuSeconds?: number;
  }
}

const ticksPerSecond = 100; // USER_HZ, the same on every Linux that Node runs on

/**
 * Each file's processes have a place of their own for what is temporary: some tests assert that nothing is left there, or
 * mounted. Open to all, as `/tmp` is: PostgreSQL runs as another user. The name is short, for sockets' paths must be.
 */
const folder = mkdtempSync(join(tmpdir(), 'bt-'));
chmodSync(folder, 0o1777);
process.env['TMPDIR'] = folder;

let file: RunnerTestFile | undefined;

beforeEach(({ task }) => {
  file ??= task.file;
});

/** Each test file has a worker of its own, and what the file itself ends in its `afterAll` has ended by now. */
afterAll(() => {
  if (file) file.meta.cpuSeconds = processorSeconds(readFileSync('/proc/self/stat', 'utf8'));
  // the agent's folder of mount points stays, empty
  for (const each of [join(folder, 'baton-mounts'), folder]) {
    try {
      rmdirSync(each);
    } catch {
      // it was never made, or something is left there
    }
  }
});

/** utime, stime, cutime and cstime: fields 14 to 17, counted behind the name, which may have spaces in it. */
function processorSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks / ticksPerSecond;
}
