import { expect, test } from 'vitest';
import { type Run, run } from '#shared/process/run.ts';
import { runCleanup } from '#shared/process/run-cleanup.ts';

test('what is to be undone runs after the stop too', async () => {
  // as the agent hands it to its commands
  const stopped: Run = (command, args, options) => run(command, args, { signal: AbortSignal.abort(), ...options });
  await expect(stopped('sleep', ['5'])).rejects.toMatchObject({ code: 'aborted' });
  expect((await runCleanup(stopped, 'echo', ['undone'])).stdout).toBe('undone\n');
});

test('but not for ever', async () => {
  await expect(runCleanup(run, 'sleep', ['5'], { timeoutMs: 20 })).rejects.toMatchObject({ code: 'timeout' });
});
