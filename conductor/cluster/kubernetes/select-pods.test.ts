import { expect, test } from 'vitest';
import type { Pod } from '#conductor/cluster/kubernetes/objects.ts';
import { planDrain } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { outlineOf } from '#conductor/cluster/kubernetes/select-pods.ts';

const owner = (kind: string) => [
  { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' },
  { apiVersion: 'apps/v1', kind, name: 'db', uid: 'u', controller: true },
];
const pod = (name: string, metadata: Partial<Pod['metadata']> = {}, more: Partial<Pod> = {}): Pod => ({
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
  pod('bare'),
  pod('db', owned),
  pod('other', { ...owned, labels: { app: 'other' } }),
  pod('data', owned, { spec: { volumes: [{ name: 'etc' }, { name: 'scratch', emptyDir: {} }] } }),
  pod('begins', owned, { status: { phase: 'Pending' } }),
  pod('unready', owned, { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] } }),
  pod('over', owned, { status: { phase: 'Succeeded' } }),
  pod('ends', { ...owned, deletionTimestamp: '2026-11-22T00:00:00Z' }),
  pod('static', { annotations: { 'kubernetes.io/config.mirror': '1', note: 'long' } }),
  pod('agent', { ownerReferences: owner('DaemonSet') }),
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
