import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ClusterChange } from '#conductor/cluster/cluster-changes.ts';
import { leaveCluster } from '#conductor/cluster/kubernetes/leave-cluster.ts';
import { removeFromCluster } from '#conductor/cluster/kubernetes/remove-from-cluster.ts';
import { newNode, newSet } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

/** A node that was decommissioned, and hours later is to leave. */

let small: OpenedCluster;
let changes: ClusterChange[];

beforeEach(async () => {
  small = await openSmallCluster();
  changes = [];
});
afterEach(() => small.close());

const never = new AbortController().signal;
const leave = (name: string, mayBeGone = false) =>
  leaveCluster(
    small.cluster,
    name,
    {
      mayBeGone,
      announce: (news, outcome) => {
        if (outcome === undefined) changes.push(...news);
        return Promise.resolve();
      },
    },
    never,
  );

test('labels and pods that have come back since, and a lost cordon, do not keep a node in the cluster', async () => {
  const { store } = small.simulator;
  store.create('nodes', newNode('n3', { 'feature.node/cpu-avx': 'true', 'gpu.example/present': 'yes' }));
  const agents = store.create('daemonsets', newSet('agents'));
  await small.settle();
  // of a machine that was switched off
  small.addPod({ name: 'ended', node: 'n3', owner: agents, phase: 'Failed' });
  await expect(removeFromCluster(small.cluster, 'n3', never)).rejects.toMatchObject({ code: 'conflict' });
  await expect(leave('n3')).resolves.toMatchObject({ state: 'done' });
  expect(small.node('n3')).toBeUndefined();
  expect(changes.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'cordon n3',
    'label feature.node/cpu-avx',
    'label gpu.example/present',
    'node n3',
  ]);
});

test('what still stands in the way is waited for, and named', async () => {
  small.addPod({ name: 'alone', node: 'n1' });
  await small.settle();
  await expect(leave('n1')).resolves.toMatchObject({
    state: 'waiting',
    reason: expect.stringContaining('Pod default/alone is on it') as unknown,
    messages: [{ name: 'default/alone', kind: 'Pod', error: true }],
  });
  expect(small.node('n1')?.spec).toMatchObject({ unschedulable: true });
});

test('a node that is not there is done only after its deletion', async () => {
  await expect(leave('n9')).rejects.toMatchObject({ code: 'not_found' });
  await expect(leave('n9', true)).resolves.toMatchObject({ state: 'done' });
});
