import { expect, test } from 'vitest';
import { type DecommissionStep, runDecommission } from '#conductor/cluster/cluster-settings.ts';
import type { RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { AppError } from '#shared/errors/app-error.ts';

function step(
  name: string,
  outcome: AppError | string,
  options: { readonly mayFail?: boolean } = {},
): DecommissionStep {
  const run = (): Promise<RoundMessage[]> =>
    outcome instanceof AppError ? Promise.reject(outcome) : Promise.resolve([{ message: outcome, error: false }]);
  return { name, run, ...options };
}
const failed = new AppError('command_failed', 'teardown of n1', {
  details: {
    reason: 'DrainNodeError',
    messages: [{ message: 'Pod a/b is ending', error: true, name: 'a/b', kind: 'Pod' }],
  },
});

test('all steps in order, each message with its step', async () => {
  const messages = await runDecommission('n1', [step('drain', 'drained'), step('clear-labels', 'cleared')]);
  expect(messages.map(({ message }) => message)).toEqual(['drain: drained', 'clear-labels: cleared']);
});

test('the first failure ends it, and tells what was done, what failed, what was not started', async () => {
  const steps = [step('drain', 'drained'), step('remove-etcd', failed), step('shutdown-kubelet', 'never')];
  await expect(runDecommission('n1', steps)).rejects.toMatchObject({
    code: 'command_failed',
    details: {
      reason: 'DisassociateStepFailure',
      messages: [
        { message: 'drain: drained', error: false },
        { message: 'remove-etcd: Pod a/b is ending', error: true, name: 'a/b', kind: 'Pod' },
        { message: 'remove-etcd: teardown of n1', error: true, name: 'remove-etcd' },
        { message: 'shutdown-kubelet: not begun', error: false },
      ],
    },
  });
});

test('a step that may fail holds nothing up, but is told', async () => {
  const messages = await runDecommission('n1', [step('drain', 'drained'), step('kubelet', failed, { mayFail: true })]);
  expect(messages.filter(({ error }) => error)).toHaveLength(2);
});

test('one that was stopped is not a success, even where it may fail', async () => {
  const stopped = new AppError('unavailable', 'the conductor is stopping');
  await expect(runDecommission('n1', [step('kubelet', stopped, { mayFail: true })])).rejects.toMatchObject({
    code: 'unavailable',
  });
});
