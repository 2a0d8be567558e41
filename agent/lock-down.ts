import { listPhysicalInterfaces } from '#agent/hardware/network-interfaces.ts';
import type { Say } from '#agent/say.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * Takes the network links down and stays until the signal aborts: nothing reaches the machine any more, and init must
 * not start another agent.
 */
export async function lockDown(run: Run, say: Say, signal: AbortSignal): Promise<void> {
  for (const { name } of await listPhysicalInterfaces()) await run('ip', ['link', 'set', 'dev', name, 'down']);
  say('locked down: not serving, network links are down');
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}
