import type { Announce } from '#conductor/cluster/cluster-changes.ts';
import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';

/** Work on the etcd clusters of a node's site. */
export interface EtcdWork {
  /** Name of the node, as in the documents. */
  readonly node: string;
  readonly site: {
    readonly etcdClusters: readonly EtcdCluster[];
    /** By name. */
    readonly nodes: { readonly keys: () => Iterable<string>; readonly has: (name: string) => boolean };
  };
  readonly signal?: AbortSignal;
  readonly announce?: Announce;
}
