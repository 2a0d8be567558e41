import { afterEach, beforeEach, expect, test } from 'vitest';
import { applyDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { shutdownKubelet } from '#conductor/cluster/kubernetes/node-steps.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;

beforeEach(async () => {
  small = await openSmallCluster();
});
afterEach(() => small.close());

const never = new AbortController().signal;
const reason = async (): Promise<string> => {
  const round = await shutdownKubelet(small.cluster, 'n1', never);
  return round.state === 'waiting' ? round.reason : round.state;
};

test('a daemon set that was never applied is told at once', async () => {
  const missing =
    'the cluster has no daemon set kube-system/baton-kubelet-shutdown to stop it: `baton shutdown-kubelet n1 --apply-daemon-set`';
  expect(await reason()).toContain(missing);
  await applyDaemonSet(small.cluster, undefined, never);
  expect(await reason()).not.toContain(missing);
  await expect.poll(reason).toBe('done');
});
