import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import type { KubernetesSimulatorOptions } from '#test/simulators/kubernetes/simulator.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';

export interface OpenedCluster extends SmallCluster {
  /** The same cluster as the conductor has it, through its kubeconfig. */
  readonly cluster: Cluster;
}

/** A small cluster, and the conductor's way into it. Its `close` closes both. */
export async function openSmallCluster(options: KubernetesSimulatorOptions = {}): Promise<OpenedCluster> {
  const small = await startSmallCluster(options);
  const cluster = await openCluster(small.kubeconfigFile);
  return {
    ...small,
    cluster,
    close: async () => {
      await cluster.close();
      await small.close();
    },
  };
}
