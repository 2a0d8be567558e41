import { join } from 'node:path';
import { start } from '#shared/process/run.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';

/**
 * Starts the lab's watchdog, which removes the lab even when this process is killed.
 * @returns ends it; called when the lab has been removed.
 */
export function startWatchdog(lab: LabDirectory): () => Promise<void> {
  const program = join(import.meta.dirname, 'watchdog-process.ts');
  const watchdog = start(process.execPath, [program, lab.namespace, lab.path, lab.sockets], { detached: true });
  watchdog.stdout.resume();
  watchdog.stderr.resume();
  return async () => {
    watchdog.stdin.end();
    await watchdog.exited;
  };
}
