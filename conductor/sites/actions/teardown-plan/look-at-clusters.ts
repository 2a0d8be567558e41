import type { EtcdLook, KubernetesLook } from '#conductor/api/teardown-plan.ts';
import { type EtcdCluster, nameOf } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { findTroubles } from '#conductor/cluster/etcd/etcd-health.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import {
  describeUnclear,
  describeUnmatched,
  findUnmatched,
  matchMembers,
} from '#conductor/cluster/etcd/match-members.ts';
import { withCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import { planRemoval } from '#conductor/cluster/etcd/plan-removal.ts';
import {
  type LookOrder,
  type Looks,
  lookAtKubernetes,
  lookMs,
  unknownInKubernetes,
  whyNotAsked,
} from '#conductor/sites/actions/teardown-plan/look-at-kubernetes.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { withCredentials } from '#conductor/sites/credentials.ts';
import type { EtcdSite } from '#conductor/sites/revisions/find-design.ts';
import { inParallel } from '#shared/in-parallel.ts';

const atOnce = 8;

/** A node in its clusters, and what stands in its way now; that may mend itself before its turn comes. */
export interface NodeLook {
  /** null = there is no Kubernetes. */
  readonly kubernetes: KubernetesLook | null;
  readonly etcd: readonly EtcdLook[];
  readonly wrong: readonly string[];
}

export interface ClustersLook {
  readonly nodes: ReadonlyMap<string, NodeLook>;
  /** Obstacles in the way of all of them. */
  readonly wrong: readonly string[];
}

type Context = Pick<SitesContext, 'db' | 'secrets' | 'config' | 'database'>;

/**
 * Asks the nodes' clusters for them, however many they are: over one connection to each, once for what concerns all of
 * them. Touches nothing.
 */
export async function lookAtClusters(
  context: Context,
  { nodes, etcdClusters }: Pick<EtcdSite, 'nodes' | 'etcdClusters'>,
  { names, teardown }: { readonly names: readonly string[]; readonly teardown: LookOrder },
): Promise<ClustersLook> {
  const [kubernetes, etcd] = await Promise.all([
    teardown.kubernetes ? lookAtKubernetes(context, names, teardown) : undefined,
    inParallel(etcdClusters, (cluster) => lookAtEtcd(context, cluster, { names, all: nodes }), { atOnce }),
  ]);
  const looks = names.map((name): [string, NodeLook] => {
    const inKubernetes = kubernetes?.nodes.get(name);
    const inEtcd = etcd.flatMap((look) => look.nodes.get(name) ?? []);
    return [
      name,
      {
        kubernetes: kubernetes ? (inKubernetes?.found ?? unknownInKubernetes) : null,
        etcd: inEtcd.map(({ found }) => found),
        wrong: [...(inKubernetes?.wrong ?? []), ...inEtcd.flatMap(({ wrong }) => wrong)],
      },
    ];
  });
  return { nodes: new Map(looks), wrong: [...(kubernetes?.wrong ?? []), ...etcd.flatMap(({ wrong }) => wrong)] };
}

/** Looks at one cluster once: what it has on each node, and whether that may leave now. */
async function lookAtEtcd(
  context: Context,
  cluster: EtcdCluster,
  { names, all }: { readonly names: readonly string[]; readonly all: ReadonlySet<string> },
): Promise<Looks<EtcdLook>> {
  const about = `etcd cluster ${cluster.name}`;
  try {
    const signal = AbortSignal.timeout(lookMs);
    const view = await withCluster(withCredentials(context), cluster, signal, (client) =>
      lookAtCluster(client, cluster),
    );
    const looks = names.map((name) => {
      const { own, unclear } = matchMembers(view.members, cluster, name, all);
      const plan = planRemoval(view, new Set(own.map(({ id }) => id)), cluster.minimumMembers);
      const wrong = [
        ...(unclear.length > 0
          ? [
              `${about}: ${describeUnclear({ unclear, members: view.members, entries: cluster.members, nodes: all }, name)}`,
            ]
          : []),
        ...(plan.act === 'refuse' ? [`${about}: ${plan.reason}`] : []),
      ];
      return [name, { found: { cluster: cluster.name, members: own.map(nameOf) }, wrong }] as const;
    });
    const unmatched = findUnmatched(view.members, cluster.members);
    const troubles = [
      ...findTroubles(view, cluster.minimumMembers),
      ...(unmatched.length === 0 ? [] : [describeUnmatched(unmatched)]),
    ];
    return { nodes: new Map(looks), wrong: troubles.map((trouble) => `${about}: ${trouble}`) };
  } catch (error) {
    const why = whyNotAsked(error);
    const nobody = { found: { cluster: cluster.name, members: null }, wrong: [] };
    return {
      nodes: new Map(names.map((name) => [name, nobody])),
      wrong: [`${about} can't be asked now: ${why}`],
    };
  }
}
