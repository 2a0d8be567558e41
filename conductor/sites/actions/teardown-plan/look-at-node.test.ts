import { afterAll, beforeAll, expect, test } from 'vitest';
import { listPodsOf } from '#conductor/cluster/kubernetes/objects.ts';
import { lookAtNode } from '#conductor/sites/actions/teardown-plan/look-at-node.ts';
import { newSet } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;
beforeAll(async () => {
  small = await openSmallCluster();
});
afterAll(() => small.close());

const never = new AbortController().signal;
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
