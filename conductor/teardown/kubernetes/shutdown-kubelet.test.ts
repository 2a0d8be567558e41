import { afterEach, beforeEach, expect, test } from 'vitest';
import { applyDaemonSet } from '#conductor/teardown/kubernetes/apply-daemon-set.ts';
import type { Cluster } from '#conductor/teardown/kubernetes/cluster.ts';
import { openCluster } from '#conductor/teardown/kubernetes/open-cluster.ts';
import { shutdownKubelet } from '#conductor/teardown/kubernetes/shutdown-kubelet.ts';
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
const reason = async (): Promise<string> => {
  const round = await shutdownKubelet(cluster, 'n1', never);
  return round.state === 'waiting' ? round.reason : round.state;
};

test('a daemon set that was never applied is told at once', async () => {
  const missing = 'the cluster has no daemon set kube-system/baton-kubelet-shutdown to stop it: `kubectl apply -f';
  expect(await reason()).toContain(missing);
  await applyDaemonSet(cluster, undefined, never);
  expect(await reason()).not.toContain(missing);
  await expect.poll(reason, { timeout: 5_000 }).toBe('done');
});
