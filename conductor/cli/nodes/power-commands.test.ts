import { expect, test } from 'vitest';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

const steps = [
  { uuid: 's1', interface: 'deploy', step: 'burn_in', plugin: null, may_skip: false },
  { uuid: 's2', interface: 'deploy', step: 'burn_in', plugin: null, may_skip: true },
];

test('a step is skipped by its name, the one of that name that may be', async () => {
  const terminal = createRecordingTerminal(() => ({ steps }));
  expect(await terminal.run('skip', 'n1', '--step', 'deploy.burn_in')).toBe('node n1: deploy.burn_in skipped\n');
  expect(terminal.calls.at(-1)).toEqual(['POST /v1/nodes/n1/flow/skip', { step: 's2' }]);
  await expect(terminal.run('skip', 'n1', '--step', 'write_image')).rejects.toThrow(
    '--step: write_image is not a step that may be skipped now; that may: deploy.burn_in',
  );
  await expect(terminal.run('skip', 'n1')).rejects.toThrow('--step');
});

test.each([
  [null, /^--step: no step of its flow may be skipped now$/],
  ["the operator's word", /may be skipped now: it is on hold, which `baton unhold` ends$/],
])('where no step may be skipped, that is said, and what ends a hold', async (onHold, message) => {
  const terminal = createRecordingTerminal(() => ({ steps: steps.slice(0, 1), on_hold: onHold }));
  await expect(terminal.run('skip', 'n1', '--step', 'hold')).rejects.toThrow(message);
});

test('several nodes are tried again, a line each', async () => {
  const terminal = createRecordingTerminal(() => ({}));
  expect(await terminal.run('retry', 'n1', 'n2')).toBe('node n1: tried again\nnode n2: tried again\n');
  expect(terminal.calls.map(([request]) => request).sort()).toEqual([
    'POST /v1/nodes/n1/flow/retry',
    'POST /v1/nodes/n2/flow/retry',
  ]);
});

test("a person's word that power may be switched", async () => {
  const terminal = createRecordingTerminal(() => ({}));
  expect(await terminal.run('power', 'release', 'n1')).toBe('node n1: its power may be switched\n');
  expect(terminal.calls.map(([request]) => request)).toEqual(['POST /v1/nodes/n1/flow/release_power']);
});
