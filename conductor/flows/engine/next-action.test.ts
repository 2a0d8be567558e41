import { expect, test } from 'vitest';
import { nextAction } from '#conductor/flows/engine/next-action.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { stateAfter } from '#conductor/model/flows/flow-states.ts';

const now = new Date('2026-11-21T10:00:00Z');
const flow = (state: FlowRow['state']) => ({ state }) as FlowRow;
const step = (name: string, more: Partial<FlowStepRow>) =>
  ({
    step: name,
    phase: 'main',
    state: 'pending',
    waitUntil: null,
    runAgain: false,
    retryUntil: null,
    ...more,
  }) as FlowStepRow;

test.each([
  ['pending', { state: 'pending' }, 'run'],
  ['interrupted by a crash', { state: 'running' }, 'run'],
  ['waiting', { state: 'waiting' }, 'resume'],
  ['waiting to be tried again', { state: 'waiting', runAgain: true }, 'run'],
  ['waiting with time left', { state: 'waiting', waitUntil: new Date(now.getTime() + 1) }, 'resume'],
  ['waiting past its time', { state: 'waiting', waitUntil: now }, 'give up'],
  ['tried again for too long', { state: 'waiting', runAgain: true, retryUntil: now }, 'give up'],
  ['waiting, an old fault long past', { state: 'waiting', retryUntil: now }, 'resume'],
] as const)('a step that is %s', (_, more, kind) => {
  const steps = [step('before', { state: 'succeeded' }), step('this', more), step('after', {})];
  expect(nextAction(flow('running'), steps, now)).toMatchObject({ kind, step: { step: 'this' } });
});

test('a flow whose steps have all ended is finished', () => {
  const steps = [step('a', { state: 'succeeded' }), step('b', { state: 'skipped' })];
  expect(nextAction(flow('waiting'), steps, now)).toEqual({ kind: 'finish' });
});

test('a failing flow goes through its clean-up steps, past those that failed', () => {
  const steps = [
    step('main', { state: 'failed' }),
    step('off', { phase: 'cleanup', state: 'failed' }),
    step('isolate', { phase: 'cleanup' }),
  ];
  expect(nextAction(flow('failing'), steps, now)).toMatchObject({ kind: 'run', step: { step: 'isolate' } });
});

test('an event after the end of a step is refused', () => {
  expect(stateAfter('waiting', 'succeeded')).toBe('succeeded');
  expect(() => stateAfter('succeeded', 'started')).toThrow("'started' cannot follow state 'succeeded'");
});
