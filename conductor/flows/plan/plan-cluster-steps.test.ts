import { expect, test } from 'vitest';
import { planDecommission, planLeaveCluster } from '#conductor/flows/plan/plan-cluster-steps.ts';
import { decommissionTimeouts } from '#conductor/model/site/cluster-timeouts.ts';

const clusters = { node: 'n1', hasKubernetes: true, hasEtcd: true, notInClusterOk: false };
const plan = (more: Partial<typeof clusters> = {}, timeouts = decommissionTimeouts) =>
  planDecommission({ ...clusters, ...more }, { revisionId: 7, timeouts, force: false });
const names = (steps: readonly { readonly step: string }[]) => steps.map(({ step }) => step);

test('stands in the order of the seed, with its times', () => {
  expect(plan().map(({ step, args }) => [step, args])).toEqual([
    ['drain', { node: 'n1', timeout: 3600, grace_period: 1800, force: false, revision: 7, not_in_cluster_ok: false }],
    ['clear_labels', { node: 'n1', timeout: 1800, force: false, revision: 7, not_in_cluster_ok: false }],
    ['remove_etcd', { node: 'n1', timeout: 1800, revision: 7, not_in_cluster_ok: false }],
    ['wait_for_etcd', { node: 'n1', timeout: 600, revision: 7, not_in_cluster_ok: false }],
    ['shutdown_kubelet', { node: 'n1', timeout: 300, not_in_cluster_ok: false }],
  ]);
  expect(plan().every(({ abortable }) => abortable)).toBe(true);
});

test('clusters that there are not have no steps', () => {
  expect(names(plan({ hasKubernetes: false }))).toEqual(['remove_etcd', 'wait_for_etcd']);
  expect(names(plan({ hasEtcd: false }))).toEqual(['drain', 'clear_labels', 'shutdown_kubelet']);
  expect(plan({ hasKubernetes: false, hasEtcd: false })).toEqual([]);
  expect(planLeaveCluster({ ...clusters, hasKubernetes: false })).toEqual([]);
  expect(names(planLeaveCluster(clusters))).toEqual(['remove_node']);
});

test('a grace period that is not below the timeout is refused', () => {
  expect(() => plan({}, { ...decommissionTimeouts, drainTimeout: 1800 })).toThrow(
    'drain-node-grace-period: 1800 s must be less than drain-node-timeout, which is 1800 s',
  );
});
