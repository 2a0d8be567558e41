import { startGateway } from '#conductor/cluster/etcd/testing/gateway.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { applyDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import type { Draft } from '#test/simulators/kubernetes/resource.ts';
import { newNode } from '#test/simulators/kubernetes/scene.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

/** A simulated Kubernetes cluster, and a stand-in for an etcd cluster, that a test's node is part of. */
export interface ClustersOfNode {
  readonly small: SmallCluster;
  /** Members of the etcd cluster, by name. */
  members(): string[];
  /** Requests to remove a member that it has taken. */
  removals(): number;
  /** Joins as on the first day: in both clusters, with labels, a pod that ends soon, and a kubelet that runs. */
  join(): Promise<void>;
  /** Joins again as after a deploy: Ready by another boot, and the voting member of the etcd cluster. */
  rejoin(bootId: string): Promise<void>;
  /** In Kubernetes alone, as a decommission leaves it. */
  leaveAsDecommissioned(): Promise<void>;
  /** The site's documents, and more of them, committed at this conductor. */
  commit(conductorUrl: string, more?: string): Promise<void>;
  close(): Promise<void>;
}

/** The label that somebody has added to the node. */
export const addedLabel = { key: 'rack', value: 'r1' } as const;

export async function startClustersOfNode(name: string): Promise<ClustersOfNode> {
  const small = await startSmallCluster();
  const gateway = await startGateway(['elsewhere']);
  const { store, world } = small.simulator;
  const cluster = await openCluster(small.kubeconfigFile);
  await applyDaemonSet(cluster, undefined, new AbortController().signal);
  await cluster.close();
  const renew = async (draft: Draft): Promise<void> => {
    const old = store.find('nodes', name);
    if (old) store.remove('nodes', old);
    for (const pod of small.podsOn(name)) store.remove('pods', pod);
    const lease = store.find('leases', name, 'kube-node-lease');
    // that of its last life would say that its kubelet is silent
    if (lease) store.remove('leases', lease);
    world.startKubelet(name);
    store.create('nodes', draft);
    await small.settle();
  };
  return {
    small,
    members: () => gateway.state.members.map((member) => member.name),
    removals: () => gateway.asked.filter((path) => path.includes('/member/remove')).length,
    join: async () => {
      await renew(newNode(name, { [addedLabel.key]: addedLabel.value }));
      small.addPod({ node: name, name: 'alone' });
      await small.settle();
      // a learner may go whatever the others are doing
      gateway.state.members = [
        { ID: '1', name: 'elsewhere' },
        { ID: '2', name, isLearner: true },
      ];
    },
    rejoin: async (bootId) => {
      await renew(newNode(name, {}, bootId));
      gateway.state.members = [{ ID: '1', name }];
    },
    leaveAsDecommissioned: async () => {
      const draft = newNode(name);
      await renew({ ...draft, spec: { ...draft.spec, unschedulable: true } });
    },
    commit: (url, more = '') => {
      const data = JSON.stringify({
        clusters: [{ name: 'control', endpoints: [gateway.url], minimum_members: 1, members: [{ name: 'elsewhere' }] }],
      });
      const etcd = `---\nschema: promenade/EtcdClusters/v1\nmetadata: {schema: metadata/Document/v1, name: etcd}\ndata: ${data}\n`;
      return createSiteOperator(url).commit('site', `${nodeDocument(name)}${etcd}${more}`);
    },
    close: async () => {
      await Promise.all([small.close(), gateway.close()]);
    },
  };
}
