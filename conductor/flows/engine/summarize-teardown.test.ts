import { expect, test } from 'vitest';
import { afterLook, type ClusterChange, withRecordedChanges } from '#conductor/cluster/cluster-changes.ts';
import { roundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { type ReportedStep as Step, reportedStep as step } from '#conductor/cluster/testing/reported-step.ts';
import { type ReportedFlow, summarizeTeardown } from '#conductor/flows/engine/summarize-teardown.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';

const reported = (deeds: readonly ClusterChange[], sure = true) => {
  const report = withRecordedChanges({ deeds: [], messages: [] }, deeds);
  return sure ? afterLook(report, { messages: [] }) : report;
};
const cordon: ClusterChange = { kind: 'cordon', name: 'n1', message: 'Node n1 is cordoned' };
const label = (name: string): ClusterChange => ({
  kind: 'label',
  name,
  value: 'x',
  message: `Label ${name}=x is taken from node n1`,
});
const member: ClusterChange = {
  kind: 'etcd member',
  name: 'n1',
  value: 'https://n1:2380, https://n1b:2380',
  of: 'control',
  message: 'member n1 removed from control',
};
const stopped: ReportedFlow = {
  flow: { kind: 'decommission', state: 'aborted' },
  steps: [
    step('drain', { output: reported([cordon]) }),
    step('clear_labels', { output: reported([label('rack'), label('zone')]) }),
    step('remove_etcd', { state: 'failed', output: reported([member], false), error: 'stopped' }),
    step('wait_for_etcd', { state: 'skipped' }),
  ],
};

test('a teardown that was stopped says what was done, what was not started, and what remains by hand', () => {
  expect(summarizeTeardown('n1', [stopped])).toEqual({
    done: [
      'cluster.drain is done',
      'cluster.clear_labels is done',
      'Node n1 is cordoned',
      'Label rack=x is taken from node n1',
      'Label zone=x is taken from node n1',
      'member n1 removed from control: this was started, and its result is unknown',
    ],
    simulated: [],
    failed: ['cluster.remove_etcd failed: stopped'],
    notBegun: ['cluster.wait_for_etcd was not started'],
    byHand: [
      'to allow pods on it again: `baton restore-labels n1` (or `kubectl uncordon n1`)',
      'to give it its labels back: `baton restore-labels n1` (or `kubectl label node n1 rack=x zone=x`)',
      'to have n1 back in etcd cluster control: empty its data directory, and `etcdctl member add n1 --peer-urls=https://n1:2380,https://n1b:2380`',
    ],
  });
});

test('of a node that was decommissioned twice, each thing is put back once, as it was last', () => {
  const late = { ...label('rack'), value: 'y', message: 'Label rack=y is taken from node n1' };
  const again: ReportedFlow = {
    flow: { kind: 'decommission', state: 'failed' },
    steps: [step('drain', { output: reported([cordon]) }), step('clear_labels', { output: reported([late]) })],
  };
  expect(summarizeTeardown('n1', [stopped, again]).byHand).toEqual([
    'to allow pods on it again: `baton restore-labels n1` (or `kubectl uncordon n1`)',
    'to give it its labels back: `baton restore-labels n1` (or `kubectl label node n1 rack=y zone=x`)',
    expect.stringContaining('etcdctl member add n1'),
  ]);
});

test('what stood in the way on the last look is named; a kubelet that runs on is told, and pods that were left', () => {
  const saying = (message: string, error: boolean) => ({ deeds: [], messages: [{ message, error }] });
  const alone = roundMessage(newRemark('pod-left-alone', { pod: 'a/b', because: 'daemon set' }));
  const { done, failed } = summarizeTeardown('n1', [
    {
      flow: { kind: 'decommission', state: 'failed' },
      steps: [
        step('drain', { output: { deeds: [], messages: [alone] } }),
        step('shutdown_kubelet', { output: saying('Kubelet of node n1 still reports', true) }),
        step('clear_labels', { state: 'failed', error: 'gave up', output: saying('Pod a/c is starting', true) }),
      ],
    },
  ]);
  expect(done).toEqual([
    'cluster.drain is done',
    'Pod a/b is left alone: daemon set',
    'cluster.shutdown_kubelet did not succeed; this does not block the flow: Kubelet of node n1 still reports',
  ]);
  expect(failed).toEqual(['cluster.clear_labels failed: gave up', 'cluster.clear_labels: Pod a/c is starting']);
});

test('a node gets its pods back when nothing stops its kubelet again; a cordon from before is not forgotten', () => {
  const report = { deeds: [], messages: [roundMessage(newRemark('cordoned-already', { node: 'n1' }))] };
  const again: ReportedFlow = {
    flow: { kind: 'decommission', state: 'aborted' },
    steps: [step('drain', { output: report }), step('shutdown_kubelet', { state: 'failed', error: 'stopped' })],
  };
  // an earlier flow changed the label
  expect(summarizeTeardown('n1', [again]).byHand).toEqual([
    expect.stringContaining('`kubectl label node n1 promenade-decomission-`'),
    expect.stringContaining('n1 was already cordoned before this action'),
  ]);
  const both = [{ ...again, steps: [step('drain', { output: reported([cordon]) }), ...again.steps.slice(1)] }];
  expect(summarizeTeardown('n1', both).byHand).toEqual([
    expect.stringContaining('promenade-decomission-'),
    'to allow pods on it again: `baton restore-labels n1` (or `kubectl uncordon n1`)',
  ]);
});

test('a node that is out of its cluster is joined again, not uncordoned', () => {
  const gone: ClusterChange = { kind: 'node', name: 'n1', message: 'Node n1 is removed from the cluster' };
  const left: ReportedFlow = {
    flow: { kind: 'leave_cluster', state: 'succeeded' },
    steps: [step('remove_node', { output: reported([gone]) })],
  };
  const { byHand } = summarizeTeardown('n1', [stopped, left]);
  expect(byHand[0]).toBe('n1 is no longer in its Kubernetes cluster: to bring it back, join it again');
  expect(byHand.join()).not.toContain('uncordon');
});

const wiped: ReportedFlow[] = [
  {
    flow: { kind: 'decommission', state: 'succeeded' },
    steps: [
      step('drain', { output: reported([cordon]) }),
      step('clear_labels', { output: reported([label('rack')]) }),
      step('shutdown_kubelet', { output: reported([{ kind: 'kubelet', name: 'n1', message: 'its kubelet stops' }]) }),
    ],
  },
  { flow: { kind: 'teardown', state: 'succeeded' }, steps: [step('power_off', { interface: 'deploy' })] },
  { flow: { kind: 'wipe', state: 'succeeded' }, steps: [step('wipe_disks', { interface: 'deploy' })] },
];
const leave = (state: Step['state'], deeds: readonly ClusterChange[] = []): ReportedFlow => ({
  flow: { kind: 'leave_cluster', state: state === 'succeeded' ? 'succeeded' : 'failed' },
  steps: [step('remove_node', { state, output: reported(deeds) })],
});
const stillThere = 'n1 is still in its Kubernetes cluster: `kubectl delete node n1`';

test('a machine that was wiped gets no pods back: its node is to be deleted', () => {
  expect(summarizeTeardown('n1', wiped).byHand).toEqual([stillThere]);
  expect(summarizeTeardown('n1', [...wiped, leave('failed', [label('rack')])]).byHand).toEqual([stillThere]);
  expect(summarizeTeardown('n1', [leave('failed', [cordon, label('rack')])]).byHand).toEqual([stillThere]);
  const stoppedBetween: ReportedFlow[] = [
    ...wiped.slice(0, 1),
    {
      flow: { kind: 'teardown', state: 'failed' },
      steps: [step('power_off', { interface: 'deploy', state: 'failed' })],
    },
  ];
  expect(summarizeTeardown('n1', stoppedBetween).byHand).toEqual([stillThere]);
  expect(summarizeTeardown('n1', [...wiped, leave('succeeded')]).byHand).toEqual([]);
});

test('a node that was never in the cluster is not to be deleted from it', () => {
  const unknown = roundMessage(newRemark('unknown-in-cluster', { server: 'https://k', node: 'n1' }));
  const drain = step('drain', { output: { deeds: [], messages: [unknown] } });
  const without: ReportedFlow[] = [
    { flow: { kind: 'decommission', state: 'succeeded' }, steps: [drain] },
    ...wiped.slice(1),
  ];
  expect(summarizeTeardown('n1', without).byHand).toEqual([]);
});

test('a teardown of which no step has begun leaves the way back as it is', () => {
  const notBegun: ReportedFlow = {
    flow: { kind: 'teardown', state: 'aborted' },
    steps: [step('power_off', { interface: 'deploy', state: 'skipped' })],
  };
  expect(summarizeTeardown('n1', [...wiped.slice(0, 1), notBegun]).byHand.join()).toContain('kubectl uncordon n1');
});

test('disks count as wiped only when the wipe has succeeded', () => {
  const wipe = (state: Step['state'], output: unknown = null): ReportedFlow => ({
    flow: { kind: 'wipe', state: 'failed' },
    steps: [step('wipe_disks', { interface: 'deploy', state, output })],
  });
  expect(summarizeTeardown('n1', [wipe('failed')]).byHand[0]).toContain('may still be readable');
  expect(summarizeTeardown('n1', [wipe('skipped')]).byHand[0]).toContain('were not touched');
  const erased = [{ device: '/dev/sda', serial: 'S1', method: 'discard', bytes: 1, seconds: 1 }];
  const receiptFailed = summarizeTeardown('n1', [wipe('succeeded', { erased, skipped: [] })]);
  expect(receiptFailed.byHand).toEqual([]);
  expect(receiptFailed.done).toContain('disk S1 was wiped (discard)');
});

test('a node that is released and not wiped yet: its disks are as they were', () => {
  const release: ReportedFlow = {
    flow: { kind: 'teardown', state: 'succeeded' },
    steps: [step('release_instance', { interface: 'deploy' }), step('owe_wipe', { interface: 'deploy' })],
  };
  const way = '`baton manage n1` and `baton provide n1` wipe it';
  const untouched = `the disks of n1 were not touched by this action: ${way}`;
  expect(summarizeTeardown('n1', [...wiped.slice(0, 1), release], way)).toMatchObject({
    notBegun: ['the wipe that its release was to end with was not started'],
    byHand: [stillThere, untouched],
  });
  for (const next of [leave('failed'), ...wiped.slice(2)]) {
    const { notBegun, byHand } = summarizeTeardown('n1', [release, next], way);
    expect(byHand.includes(untouched)).toBe(next.flow.kind !== 'wipe');
    expect(notBegun).toHaveLength(next.flow.kind === 'wipe' ? 0 : 1);
  }
  // it owes none any more: an operator has had it wiped
  expect(summarizeTeardown('n1', [release])).toMatchObject({ notBegun: [expect.any(String)], byHand: [] });
});

test('a change that is announced again is not added', () => {
  const report = reported([cordon, label('rack')]);
  expect(withRecordedChanges(report, [cordon])).toBe(report);
  expect(withRecordedChanges(report, [label('zone')]).deeds.map(({ sure }) => sure)).toEqual([true, true, false]);
});
