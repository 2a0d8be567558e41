import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Cluster } from '#conductor/teardown/kubernetes/cluster.ts';
import { drainNode } from '#conductor/teardown/kubernetes/drain-node.ts';
import { isUnknownNode, readNode } from '#conductor/teardown/kubernetes/objects.ts';
import { openCluster } from '#conductor/teardown/kubernetes/open-cluster.ts';
import { removeFromCluster } from '#conductor/teardown/kubernetes/remove-from-cluster.ts';
import { newNode } from '#test/simulators/kubernetes/scene.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';

let small: SmallCluster;
let cluster: Cluster;

beforeEach(async () => {
  small = await startSmallCluster();
  cluster = await openCluster(small.kubeconfigFile, { requestTimeoutMs: 5_000 });
});
afterEach(async () => {
  await cluster.close();
  await small.close();
});

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
    () => readNode(cluster, 'n1', never),
    () => removeFromCluster(cluster, 'n1', never),
    () => drainNode(cluster, 'n1', { gracePeriodSeconds: 0 }, never),
  ]) {
    const error: unknown = await round().catch((reason: unknown) => reason);
    expect(isUnknownNode(error)).toBe(false);
    expect(error).toMatchObject({ code: 'unavailable', retryable: true });
  }
});

test('a dead API server holds a look up for seconds only', async () => {
  const patient = await openCluster(small.kubeconfigFile);
  small.simulator.inject({ path: /nodes\/n1$/, hang: true });
  await expect(removeFromCluster(patient, 'n1', never)).rejects.toThrow('no answer within 5 s');
  await patient.close();
});

test('the deletion of a node is done only when the server says so of this node', async () => {
  const draft = newNode('n3');
  small.simulator.store.create('nodes', { ...draft, spec: { unschedulable: true } });
  small.simulator.inject({ method: 'DELETE', path: /nodes\/n3$/, status: 404, body: '404 page not found' });
  await expect(removeFromCluster(cluster, 'n3', never)).rejects.toMatchObject({ code: 'unavailable' });
  expect(small.node('n3')).toBeDefined();
  await expect(removeFromCluster(cluster, 'n3', never)).resolves.toMatchObject({ state: 'done' });
  await expect(removeFromCluster(cluster, 'n3', never)).resolves.toMatchObject({ state: 'done' });
});
