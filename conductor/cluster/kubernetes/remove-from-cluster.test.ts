import { afterEach, beforeEach, expect, test } from 'vitest';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { isUnknownNode, readNode } from '#conductor/cluster/kubernetes/objects.ts';
import { removeFromCluster } from '#conductor/cluster/kubernetes/remove-from-cluster.ts';
import { newNode } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;

beforeEach(async () => {
  small = await openSmallCluster();
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
