import { afterEach, beforeEach, expect, test } from 'vitest';
import { listPodsOf, type Pod, podName } from '#conductor/cluster/kubernetes/client/objects.ts';
import { findDaemonSets } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { type Budget, listBudgets } from '#conductor/cluster/kubernetes/disruption-budgets.ts';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { outlineOf, planDrain } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { newBudget, newSet } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;
beforeEach(async () => {
  small = await openSmallCluster();
});
afterEach(() => small.close());

const never = new AbortController().signal;

async function plan() {
  const { cluster } = small;
  const pods = await listPodsOf(cluster, 'n1', never);
  const budgets = await listBudgets(cluster, never);
  return planDrain(pods, await findDaemonSets(cluster, pods, never), budgets);
}

test('what is told before is what the drain meets', async () => {
  const { store } = small.simulator;
  store.create('daemonsets', newSet('agents'));
  small.addPod({ name: 'bare', node: 'n1' });
  small.addPod({ name: 'data', node: 'n1', hasLocalData: true, owner: store.create('replicasets', newSet('db')) });
  // onto both nodes
  await small.addSet('web', 6);
  await small.addSet('free', 6);
  store.create('poddisruptionbudgets', newBudget('web', 'web', 6));
  store.create('poddisruptionbudgets', newBudget('free', 'free', 1));
  await small.settle();
  await waitUntil(
    'the budgets to be judged',
    async () =>
      (await listBudgets(small.cluster, never)).every(({ status }) => status?.desiredHealthy) ? true : undefined,
    { everyMs: 10 },
  );
  const { evicted, kept, forced } = await plan();
  const begun = new Set(evicted.map(({ metadata }) => metadata.name.replace(/-.*/, '')));
  expect([...begun].toSorted()).toEqual(['bare', 'data', 'free', 'web']);
  expect(forced.map(({ pod, because }) => `${podName(pod)}: ${because}`).toSorted()).toEqual([
    'default/bare: unmanaged',
    'default/data: local data',
  ]);
  expect(kept.length).toBeGreaterThan(0);
  for (const { forbidden } of kept) {
    expect(forbidden).toMatchObject({
      because: 'no disruption',
      budget: { metadata: { name: 'web' }, status: { currentHealthy: 6, desiredHealthy: 6 } },
    });
  }
  const { messages } = await drainNode(small.cluster, 'n1', { gracePeriodSeconds: 1 }, never);
  const met = messages.filter(({ message }) => message.includes('forbids it')).map(({ name }) => name);
  expect(met).toEqual(kept.map(({ pod }) => podName(pod)));
});

test('budgets of an older cluster are asked for as it has them', async () => {
  const old = await openSmallCluster({ eviction: 'v1beta1' });
  old.simulator.store.create('poddisruptionbudgets', newBudget('web', 'web', 1));
  expect(await listBudgets(old.cluster, never)).toMatchObject([{ metadata: { name: 'web', namespace: 'default' } }]);
  const { path } = old.simulator.requests.at(-1) ?? {};
  expect(path).toMatch(/^\/apis\/policy\/v1beta1\/poddisruptionbudgets\?/);
  // whose empty selector selects nothing, however it is written
  for (const [index, selector] of [{}, { matchLabels: {} }, { matchExpressions: [] }].entries()) {
    old.simulator.store.create('poddisruptionbudgets', {
      metadata: { name: `empty-${index}` },
      spec: { minAvailable: 1, selector },
      status: {},
    });
  }
  const budgets = await listBudgets(old.cluster, never);
  expect(budgets).toHaveLength(4);
  expect(keeps(pod({ namespace: 'default', labels: { app: 'db' } }), ...budgets)).toBeUndefined();
  expect(keeps(pod({ namespace: 'default' }), ...budgets)).toBe('no disruption');
  await old.close();
});

const pod = (more: Partial<Pod['metadata']> = {}, status: Pod['status'] = ready('True')): Pod => ({
  metadata: { name: 'web-1', namespace: 'shop', uid: 'u1', labels: { app: 'web', tier: 'front', rank: '2' }, ...more },
  spec: {},
  status,
});
const ready = (value: string): Pod['status'] => ({ phase: 'Running', conditions: [{ type: 'Ready', status: value }] });
const budget = (selector: Budget['spec']['selector'], more: Partial<Budget> = {}): Budget => ({
  metadata: { name: 'web', namespace: 'shop' },
  spec: { selector },
  status: { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 },
  ...more,
});
const ofWeb = { matchLabels: { app: 'web' } };
const keeps = (given: Pod, ...budgets: readonly Budget[]) =>
  planDrain([given], () => true, budgets).kept[0]?.forbidden.because;

test.each([
  ['all of its namespace', {}, true],
  ['its label', ofWeb, true],
  ['another label', { matchLabels: { app: 'db' } }, false],
  ['an expression', { ...ofWeb, matchExpressions: [{ key: 'tier', operator: 'In', values: ['front'] }] }, true],
  ['an expression that excludes it', { matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] }, false],
  ['nothing', null, false],
  // which the API server can't read, and ignores with their budget
  ['an operator that labels have not', { matchExpressions: [{ key: 'tier', operator: 'Like', values: ['f'] }] }, false],
  ['an operator of nodes', { matchExpressions: [{ key: 'rank', operator: 'Gt', values: ['1'] }] }, false],
  ['all but none', { ...ofWeb, matchExpressions: [{ key: 'tier', operator: 'NotIn', values: [] }] }, false],
  ['a label with a value too many', { matchExpressions: [{ key: 'tier', operator: 'Exists', values: ['x'] }] }, false],
])('a budget that selects %s', (_, selector, isKept) => {
  expect(keeps(pod(), budget(selector)) !== undefined).toBe(isKept);
});

test('a budget counts in its own namespace, and where a disruption is left it keeps nobody', () => {
  expect(keeps(pod({ namespace: 'other' }), budget(ofWeb))).toBeUndefined();
  expect(keeps(pod(), budget(ofWeb, { status: { disruptionsAllowed: 1 } }))).toBeUndefined();
  // the first goes, and those after it wait until there is enough without them
  const one = budget(ofWeb, { status: { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2 } });
  const named = (name: string, status?: Pod['status']) => pod({ name }, status);
  const pods = [
    named('a'),
    named('over', { phase: 'Succeeded' }),
    named('sick', ready('False')),
    named('b'),
    named('c'),
  ];
  expect(
    planDrain(pods, () => true, [one]).kept.map(({ pod: each, forbidden }) => `${podName(each)}: ${forbidden.because}`),
  ).toEqual(['shop/b: too few disruptions', 'shop/c: too few disruptions']);
  // one that its controller has not seen yet
  expect(keeps(pod(), budget(ofWeb, { status: null }))).toBe('no disruption');
  expect(keeps(pod(), budget(ofWeb), budget({}))).toBe('several budgets');
});

test('pods that are over, begin or end go whatever a budget says; those that are not ready where it has enough', () => {
  for (const phase of ['Succeeded', 'Failed', 'Pending']) {
    expect(keeps(pod({}, { phase }), budget(ofWeb))).toBeUndefined();
  }
  expect(keeps(pod({ deletionTimestamp: '2026-11-22T00:00:00Z' }), budget(ofWeb))).toBeUndefined();
  const unready = pod({}, ready('False'));
  const lacking = { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 };
  expect(keeps(unready, budget(ofWeb))).toBeUndefined();
  expect(keeps(unready, budget(ofWeb, { status: lacking }))).toBe('no disruption');
  const always = { selector: ofWeb, unhealthyPodEvictionPolicy: 'AlwaysAllow' };
  expect(keeps(unready, budget(ofWeb, { status: lacking, spec: always }))).toBeUndefined();
});

const owner = (kind: string) => [
  { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' },
  { apiVersion: 'apps/v1', kind, name: 'db', uid: 'u', controller: true },
];
const ownedPod = (name: string, metadata: Partial<Pod['metadata']> = {}, more: Partial<Pod> = {}): Pod => ({
  metadata: { name, namespace: 'shop', uid: name, labels: { app: 'db' }, ...metadata },
  spec: { nodeSelector: { disk: 'fast' } },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'PodScheduled', status: 'True' },
      { type: 'Ready', status: 'True' },
    ],
  },
  ...more,
});
const owned = { ownerReferences: owner('ReplicaSet') };
const pods: readonly Pod[] = [
  ownedPod('bare'),
  ownedPod('db', owned),
  ownedPod('other', { ...owned, labels: { app: 'other' } }),
  ownedPod('data', owned, { spec: { volumes: [{ name: 'etc' }, { name: 'scratch', emptyDir: {} }] } }),
  ownedPod('begins', owned, { status: { phase: 'Pending' } }),
  ownedPod('unready', owned, { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] } }),
  ownedPod('over', owned, { status: { phase: 'Succeeded' } }),
  ownedPod('ends', { ...owned, deletionTimestamp: '2026-11-22T00:00:00Z' }),
  ownedPod('static', { annotations: { 'kubernetes.io/config.mirror': '1', note: 'long' } }),
  ownedPod('agent', { ownerReferences: owner('DaemonSet') }),
];

test("from a pod's outline the same is told as from the pod", () => {
  const budget = {
    metadata: { name: 'db', namespace: 'shop' },
    spec: { selector: { matchLabels: { app: 'db' } } },
    status: { disruptionsAllowed: 0, currentHealthy: 3, desiredHealthy: 3 },
  };
  const plan = (of: Parameters<typeof planDrain>[0]) => {
    const { evicted, kept, forced } = planDrain(of, ({ metadata }) => metadata.name === 'agent', [budget]);
    return {
      evicted: evicted.map(({ metadata }) => metadata.name),
      kept: kept.map(({ pod: { metadata } }) => metadata.name),
      forced: forced.map(({ pod: { metadata }, because }) => `${metadata.name}: ${because}`),
    };
  };
  const outlines = pods.map(outlineOf);
  expect(plan(outlines)).toEqual(plan(pods));
  expect(plan(pods)).toEqual({
    evicted: ['bare', 'db', 'other', 'data', 'begins', 'unready', 'over', 'ends'],
    kept: ['bare', 'db', 'data'],
    forced: ['bare: unmanaged', 'data: local data'],
  });
  expect(JSON.stringify(outlines)).not.toMatch(/note|PodScheduled|disk|uid|"Node"/);
});
