import { expect, test } from 'vitest';
import { noteNode } from '#conductor/sites/actions/steps/report-teardown.ts';
import type { ToldFlow } from '#conductor/teardown/what-remains.ts';

const step = (name: string, more: Partial<ToldFlow['steps'][number]>): ToldFlow['steps'][number] => ({
  interface: 'cluster',
  step: name,
  plugin: null,
  phase: 'main',
  state: 'succeeded',
  output: null,
  error: null,
  waitingFor: null,
  ...more,
});
const stuck: ToldFlow = {
  flow: { kind: 'decommission', state: 'failed' },
  steps: [
    step('drain', {
      state: 'failed',
      error: 'time is up: pod default/stuck',
      output: { deeds: [{ kind: 'cordon', name: 'n1', message: 'Node n1 is cordoned', sure: true }], messages: [] },
    }),
    step('clear_labels', { state: 'skipped' }),
  ],
};

test('of a node that was left half way, what was done, what was not, and what a person does', () => {
  const { text, verbosity } = noteNode('n1', { status: 'failure', reason: 'drain failed' }, [stuck]);
  expect(verbosity).toBe(1);
  expect(text.split('\n')).toEqual([
    'not finished: drain failed',
    'done: Node n1 is cordoned',
    'failed: cluster.drain failed: time is up: pod default/stuck',
    'not begun: cluster.clear_labels was not begun',
    expect.stringContaining('by hand: to let pods onto it again: `kubectl uncordon n1`'),
  ]);
});

test('of one that nothing was done to, and of one that is back', () => {
  expect(noteNode('n2', { status: 'not_started' }, []).text).toBe('not begun: nothing was done to it');
  const done: ToldFlow = { flow: { kind: 'leave_cluster', state: 'succeeded' }, steps: [step('remove_node', {})] };
  expect(noteNode('n1', { status: 'success' }, [done])).toMatchObject({
    verbosity: 2,
    text: 'all was done\ndone: cluster.remove_node is done',
  });
});
