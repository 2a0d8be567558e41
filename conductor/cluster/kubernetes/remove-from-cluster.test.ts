import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ClusterChange } from '#conductor/cluster/cluster-changes.ts';
import { isUnknownNode } from '#conductor/cluster/cluster-faults.ts';
import { readNode } from '#conductor/cluster/kubernetes/client/objects.ts';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { leaveCluster, removeFromCluster } from '#conductor/cluster/kubernetes/remove-from-cluster.ts';
import { newNode, newSet } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;
let changes: ClusterChange[];

beforeEach(async () => {
  small = await openSmallCluster();
  changes = [];
});
afterEach(() => small.close());

const never = new AbortController().signal;
const status = (details: unknown, reason = 'NotFound') => ({ kind: 'Status', status: 'Failure', reason, details });

test.each([
  ['a text', '404 page not found\n'],
  ['a page', '<html>no backend</html>'],
  ['an answer about nothing', status({})],
  ['an answer about another kind', status({ kind: 'namespaces', name: 'n1' })],
  ['an answer about another node', status({ kind: 'nodes', name: 'n2' })],
  ['some other JSON', { error: 'not found' }],
])('a 404 with %s does not say that the node is not there', async (_what, body) => {
  small.simulator.inject({ path: /nodes\/n1$/, status: 404, body, times: 9 });
  for (const round of [
    () => readNode(small.cluster, 'n1', never),
    () => removeFromCluster(small.cluster, 'n1', never),
    () => drainNode(small.cluster, 'n1', { gracePeriodSeconds: 0 }, never),
  ]) {
    const error: unknown = await round().catch((reason: unknown) => reason);
    expect(isUnknownNode(error)).toBe(false);
    expect(error).toMatchObject({ code: 'unavailable', retryable: true });
  }
});

test('a dead API server holds a look up for seconds only', async () => {
  small.simulator.inject({ path: /nodes\/n1$/, hang: true });
  await expect(removeFromCluster(small.cluster, 'n1', never)).rejects.toThrow('no answer within 5 s');
});

test('the deletion of a node is done only when the server says so of this node', async () => {
  const draft = newNode('n3');
  small.simulator.store.create('nodes', { ...draft, spec: { unschedulable: true } });
  small.simulator.inject({ method: 'DELETE', path: /nodes\/n3$/, status: 404, body: '404 page not found' });
  await expect(removeFromCluster(small.cluster, 'n3', never)).rejects.toMatchObject({ code: 'unavailable' });
  expect(small.node('n3')).toBeDefined();
  await expect(removeFromCluster(small.cluster, 'n3', never)).resolves.toMatchObject({ state: 'done' });
  await expect(removeFromCluster(small.cluster, 'n3', never)).resolves.toMatchObject({ state: 'done' });
});

/** A node that was decommissioned, and hours later is to leave. */
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
