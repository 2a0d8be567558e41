import type { Proof } from '#test/lab/proofs/proof.ts';
import { minAvailable, type NodeCluster, otherMembers } from '#test/lab/redeploy/node-cluster.ts';
import type { SeenTeardown, TeardownTimes } from '#test/lab/redeploy/watch-teardown.ts';

export interface EndedTeardown {
  readonly cluster: NodeCluster;
  readonly teardown: SeenTeardown;
  readonly node: string;
  /** When the machine was first powered on after it. */
  readonly firstBootAt: number | undefined;
}

/** The node left both clusters as it should have, before its machine was touched; looked at behind their APIs. */
export async function proveTeardown({ cluster, teardown, node, firstBootAt }: EndedTeardown): Promise<Proof[]> {
  const { times, pods, evicted } = teardown;
  const members = await cluster.members();
  const unhealthy = await findUnhealthy(cluster);
  const others = [...otherMembers];
  const isGone = cluster.simulator.store.find('nodes', node) === undefined;
  return [
    {
      what: 'its pods were evicted, and the budget was kept',
      holds: pods.length > 0 && evicted.length === pods.length && teardown.fewestReady() >= minAvailable,
      seen: `${evicted.length} of ${pods.length}; never fewer than ${teardown.fewestReady()} ready, ${minAvailable} wanted`,
    },
    {
      what: 'its etcd member has left, the others are healthy',
      holds: members.join() === others.join() && unhealthy.length === 0,
      seen: `${members.join(', ')}${unhealthy.length > 0 ? `; not healthy: ${unhealthy.join(', ')}` : ''}`,
    },
    { what: 'the node object is gone', holds: isGone && times.removed !== undefined, seen: isGone ? 'gone' : 'there' },
    proveOrder(times, firstBootAt),
  ];
}

async function findUnhealthy({ etcd }: NodeCluster): Promise<string[]> {
  const isHealthy = await Promise.all(otherMembers.map((name) => etcd.client.isHealthy(etcd.member(name).url)));
  return otherMembers.filter((_, index) => isHealthy[index] !== true);
}

function proveOrder(times: TeardownTimes, firstBootAt: number | undefined): Proof {
  const order = [
    ['cordoned', times.cordoned],
    ['drained', times.drained],
    ['labels', times.unlabelled],
    ['etcd', times.leftEtcd],
    ['kubelet', times.kubeletStopped],
    ['wipe', firstBootAt],
    ['removed', times.removed],
  ] as const;
  const start = times.cordoned ?? 0;
  return {
    what: 'one after the other, the wipe after all but the removal',
    holds: order.every(([, at], index) => at !== undefined && at >= (order[index - 1]?.[1] ?? 0)),
    seen: order
      .map(([what, at]) => `${what} ${at === undefined ? 'never' : `${((at - start) / 1000).toFixed(1)} s`}`)
      .join(', '),
  };
}
