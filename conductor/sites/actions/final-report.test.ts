import { expect, test } from 'vitest';
import { reportedStep as step } from '#conductor/cluster/testing/reported-step.ts';
import type { ReportedFlow } from '#conductor/flows/engine/summarize-teardown.ts';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import { noteNode } from '#conductor/sites/actions/final-report.ts';

const stuck: ReportedFlow = {
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
  const [note, ...others] = noteNode(
    'n1',
    { status: 'failure', reason: textRemark('drain failed') },
    { its: [stuck], receipts: [] },
  );
  expect([note?.verbosity, others]).toEqual([1, []]);
  expect(note?.text.split('\n')).toEqual([
    'not finished: drain failed',
    'done: Node n1 is cordoned',
    'failed: cluster.drain failed: time is up: pod default/stuck',
    'not begun: cluster.clear_labels was not started',
    expect.stringContaining('by hand: to allow pods on it again: `baton restore-labels n1` (or `kubectl uncordon n1`)'),
  ]);
});

test('of one that nothing was done to, and of one that is back', () => {
  const nothing = { its: [], receipts: [] };
  expect(noteNode('n2', { status: 'not_started' }, nothing)[0]?.text).toBe('not begun: nothing was done to it');
  const done: ReportedFlow = { flow: { kind: 'leave_cluster', state: 'succeeded' }, steps: [step('remove_node', {})] };
  expect(
    noteNode(
      'n1',
      { status: 'success', reason: newRemark('torn-down-kept', { state: 'available', wiped: 'wiped' }) },
      { its: [done], receipts: ['r1'] },
    ),
  ).toEqual([
    expect.objectContaining({
      verbosity: 1,
      text: 'all was done: it is available, wiped, off\nreceipt r1: `baton receipt show r1`',
    }),
    expect.objectContaining({ verbosity: 2, text: 'done: cluster.remove_node is done' }),
  ]);
});

test('a wipe of nothing is not taken for one', () => {
  const wipe: ReportedFlow = {
    flow: { kind: 'wipe', state: 'succeeded' },
    steps: [step('leave_network', { interface: 'deploy' })],
  };
  expect(noteNode('n1', { status: 'success' }, { its: [wipe], receipts: [] })[0]?.text).toBe(
    'all was done\nwipe simulated (deploy_interface fake): no disk is touched, no receipt',
  );
});

test("a reason that is the flow's is not told again", () => {
  const error = 'flow f failed: decommission step cluster.drain failed: time is up: pod default/stuck';
  const reason = newRemark('flow-failed', { error, node: 'n1' });
  const [note] = noteNode('n1', { status: 'failure', reason }, { its: [stuck], receipts: [] });
  expect(note?.text.split('\n')[0]).toBe('not finished');
  expect(note?.text.match(/time is up/g)).toHaveLength(1);
});
