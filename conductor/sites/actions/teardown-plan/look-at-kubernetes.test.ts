import { afterAll, beforeAll, expect, test } from 'vitest';
import { namePods } from '#conductor/api/teardown-plan.ts';
import { listPodsOf, type Pod } from '#conductor/cluster/kubernetes/client/objects.ts';
import { planDrain } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { describeDrain, describeKept, lookAtNode } from '#conductor/sites/actions/teardown-plan/look-at-kubernetes.ts';
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

const pod = (name: string, app: string, namespace = 'shop'): Pod => ({
  metadata: {
    name,
    namespace,
    uid: name,
    labels: { app },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: app, controller: true }],
  },
  spec: {},
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
});
const budget = (name: string, app: string, healthy: number | null = 2) => ({
  metadata: { name, namespace: 'shop' },
  spec: { selector: { matchLabels: { app } } },
  status: healthy === null ? null : { disruptionsAllowed: 0, currentHealthy: healthy, desiredHealthy: 2 },
});

test('one sentence for a budget, with its pods; what nobody has counted is unknown', () => {
  const pods = [pod('web-1', 'web'), pod('web-2', 'web'), pod('db-1', 'db'), pod('new-1', 'new'), pod('free', 'free')];
  const budgets = [budget('web', 'web'), budget('db', 'db'), budget('db-too', 'db'), budget('new', 'new', null)];
  const look = describeDrain(planDrain(pods, () => true, budgets));
  const wrong = describeKept([['n1', look]], 60);
  expect(look).toMatchObject({ evicted: 5, lost: [], kept_by_budgets: { length: 4 } });
  const end = 'the drain asks again until its 60 s are over';
  expect(wrong).toEqual([
    `PodDisruptionBudget shop/web allows no disruption (2 healthy, 2 needed): shop/web-1, shop/web-2 on n1; ${end}`,
    `PodDisruptionBudgets shop/db and shop/db-too are about the same pods, which nothing evicts before one of the budgets goes: shop/db-1 on n1; ${end}`,
    `PodDisruptionBudget shop/new allows no disruption (unknown healthy, unknown needed): shop/new-1 on n1; ${end}`,
  ]);
});

test('a budget of many nodes is told once', () => {
  const looks = Array.from({ length: 12 }, (_, index) => {
    const pods = [pod(`web-${index}a`, 'web'), pod(`web-${index}b`, 'web')];
    return [`n${index}`, describeDrain(planDrain(pods, () => true, [budget('web', 'web')]))] as const;
  });
  expect(describeKept(looks, 60)).toEqual([
    'PodDisruptionBudget shop/web allows no disruption (2 healthy, 2 needed): 24 pods on 12 nodes, n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more; the drain asks again until its 60 s are over',
  ]);
});

test('pods that wait for what their budget allows at a time are told with it', () => {
  const one = { ...budget('web', 'web'), status: { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2 } };
  const pods = [pod('web-1', 'web'), pod('web-2', 'web')];
  expect(describeKept([['n1', describeDrain(planDrain(pods, () => true, [one]))]], 60)).toEqual([
    'PodDisruptionBudget shop/web allows 1 at a time (3 healthy, 2 needed), so of each node these wait for others to go first: shop/web-2 on n1; the drain asks again until its 60 s are over',
  ]);
});

test('of many pods the first ten are named', () => {
  const pods = Array.from({ length: 13 }, (_, index) => ({ pod: `shop/p${index}` }));
  expect(namePods(pods)).toMatch(/^shop\/p0, .*, shop\/p9 and 3 more$/);
});
