import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookAtNode } from '#conductor/sites/actions/teardown-plan/look-at-node.ts';
import { listPodsOf } from '#conductor/teardown/kubernetes/objects.ts';
import { planDrain } from '#conductor/teardown/kubernetes/plan-drain.ts';
import { outlineOf } from '#conductor/teardown/kubernetes/select-pods.ts';
import { newSet } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;
beforeAll(async () => {
  small = await openSmallCluster();
});
afterAll(() => small.close());

const never = new AbortController().signal;
const mirror = 'kubernetes.io/config.mirror';

test('of pods that are long to read little is kept', async () => {
  const { simulator, cluster } = small;
  const owner = simulator.store.create('replicasets', newSet('web'));
  for (const name of ['a', 'b', 'c']) {
    small.addPod({ name, node: 'n1', owner, phase: 'Running', annotations: { last: 'x'.repeat(50_000) } });
  }
  expect(JSON.stringify(await listPodsOf(cluster, 'n1', never)).length).toBeGreaterThan(150_000);
  const seen = await lookAtNode(cluster, 'n1');
  expect(seen).toMatchObject({ isMember: true, ready: true, cordoned: false, pods: { length: 3 } });
  expect(JSON.stringify(seen).length).toBeLessThan(1_500);
  expect(await lookAtNode(cluster, 'n9')).toMatchObject({ isMember: false });
});

test('what a drain would do with pods is told from that little', async () => {
  const { simulator, cluster } = small;
  const { store } = simulator;
  const [set, agents] = [store.create('replicasets', newSet('db')), store.create('daemonsets', newSet('agents'))];
  small.addPod({ name: 'data', node: 'n2', owner: set, hasLocalData: true, phase: 'Running' });
  small.addPod({ name: 'begins', node: 'n2', owner: set, phase: 'Pending' });
  small.addPod({ name: 'over', node: 'n2', owner: set, phase: 'Succeeded' });
  small.addPod({ name: 'bare', node: 'n2', phase: 'Running', labels: { app: 'db' } });
  small.addPod({ name: 'static', node: 'n2', phase: 'Running', annotations: { [mirror]: '1' } });
  small.addPod({ name: 'agent', node: 'n2', owner: agents, phase: 'Running' });
  small.addPod({ name: 'ends', node: 'n2', owner: set, phase: 'Running', finalizers: ['example.com/last'] });
  const ends = store.find('pods', 'ends', 'default');
  if (ends)
    store.replace('pods', { ...ends, metadata: { ...ends.metadata, deletionTimestamp: '2026-11-22T00:00:00Z' } });
  const pods = await listPodsOf(cluster, 'n2', never);
  const budgets = [
    {
      metadata: { name: 'db', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'db' } } },
      status: null,
    },
  ];
  const plan = (of: Parameters<typeof planDrain>[0]) => {
    const { evicted, kept, forced } = planDrain(of, ({ metadata }) => metadata.name === 'agent', budgets);
    return {
      evicted: evicted.map(({ metadata }) => metadata.name),
      kept: kept.map(({ pod }) => pod.metadata.name),
      forced: forced.map(({ pod, because }) => `${pod.metadata.name}: ${because}`),
    };
  };
  expect(plan(pods.map(outlineOf))).toEqual(plan(pods));
  expect(plan(pods)).toMatchObject({ evicted: { length: 5 }, kept: { length: 2 }, forced: { length: 2 } });
});
