import { expect, test } from 'vitest';
import { describeDrain, namePods } from '#conductor/sites/actions/teardown-plan/describe-drain.ts';
import type { Pod } from '#conductor/teardown/kubernetes/objects.ts';
import { planDrain } from '#conductor/teardown/kubernetes/plan-drain.ts';

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
  const { look, wrong } = describeDrain(
    planDrain(pods, () => true, budgets),
    60,
  );
  expect(look).toMatchObject({ evicted: 5, lost: [], kept_by_budgets: { length: 4 } });
  const end = 'the drain asks again until its 60 s are over';
  expect(wrong).toEqual([
    `PodDisruptionBudget shop/web allows no disruption (2 healthy, 2 needed): shop/web-1, shop/web-2; ${end}`,
    `PodDisruptionBudgets shop/db and shop/db-too are about the same pods, which nothing evicts before one of the budgets goes: shop/db-1; ${end}`,
    `PodDisruptionBudget shop/new allows no disruption (unknown healthy, unknown needed): shop/new-1; ${end}`,
  ]);
});

test('of many pods the first ten are named', () => {
  const pods = Array.from({ length: 13 }, (_, index) => ({ pod: `shop/p${index}` }));
  expect(namePods(pods)).toMatch(/^shop\/p0, .*, shop\/p9 and 3 more$/);
});
