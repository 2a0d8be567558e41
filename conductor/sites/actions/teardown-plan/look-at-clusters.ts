import type { ConductorContext } from '#conductor/context.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import type { EtcdCluster, Site } from '#conductor/sites/site.ts';
import { nameOf } from '#conductor/teardown/etcd/cluster-view.ts';
import { findTroubles } from '#conductor/teardown/etcd/find-troubles.ts';
import { lookAtCluster } from '#conductor/teardown/etcd/look-at-cluster.ts';
import { matchMembers } from '#conductor/teardown/etcd/match-members.ts';
import { withCluster } from '#conductor/teardown/etcd/open-cluster.ts';
import { planRemoval } from '#conductor/teardown/etcd/plan-removal.ts';
import { isCordoned, isReady } from '#conductor/teardown/kubernetes/cordon.ts';
import { isUnknownNode, listPodsOf, readNode } from '#conductor/teardown/kubernetes/objects.ts';
import { openCluster } from '#conductor/teardown/kubernetes/open-cluster.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** An operator waits for it: what does not answer within it is told as such. */
const lookMs = 5_000;

/** A node in Kubernetes as it is now. */
export interface KubernetesLook {
  /** `null`: nobody could be asked. */
  readonly is_member: boolean | null;
  readonly ready: boolean | null;
  readonly cordoned: boolean | null;
  readonly pods: number | null;
}

export interface EtcdLook {
  readonly cluster: string;
  /** Names of the members that run on the node; `null`: nobody could be asked. */
  readonly members: readonly string[] | null;
}

export interface Look<What> {
  readonly found: What;
  /** What stands in the way now; it may mend itself before its turn comes. */
  readonly wrong: readonly string[];
}

const unknown: KubernetesLook = { is_member: null, ready: null, cordoned: null, pods: null };

/** Asks the cluster of the kubeconfig for a node, once. Touches nothing. */
export async function lookAtKubernetes(
  { config }: Pick<ConductorContext, 'config'>,
  node: string,
  { notInClusterOk }: Pick<TeardownOrder, 'notInClusterOk'>,
): Promise<Look<KubernetesLook>> {
  const signal = AbortSignal.timeout(lookMs);
  try {
    const cluster = await openCluster(config.kubeconfigFile, { requestTimeoutMs: lookMs });
    try {
      const found = await readNode(cluster, node, signal);
      const pods = await listPodsOf(cluster, node, signal);
      const look = { is_member: true, ready: isReady(found), cordoned: isCordoned(found), pods: pods.length };
      return {
        found: look,
        wrong: look.ready ? [] : [`${node} is not ready in Kubernetes: pods that end are not confirmed`],
      };
    } finally {
      await cluster.close();
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (isUnknownNode(error)) {
      const hint = `${errorChain(error)} (not-in-cluster-ok=true, if it was never part of it)`;
      return { found: { ...unknown, is_member: false }, wrong: notInClusterOk ? [] : [hint] };
    }
    return { found: unknown, wrong: [`Kubernetes can't be asked now: ${errorChain(error)}`] };
  }
}

/** Asks each etcd cluster of the documents what it has on a node, and whether that may leave now. Touches nothing. */
export async function lookAtEtcd(
  context: Pick<ConductorContext, 'db' | 'secrets' | 'config'>,
  { nodes, etcdClusters }: Pick<Site, 'nodes' | 'etcdClusters'>,
  node: string,
): Promise<Look<readonly EtcdLook[]>> {
  const names = new Set(nodes.keys());
  const looks = await Promise.all(etcdClusters.map((cluster) => lookAtOne(context, cluster, { node, names })));
  return { found: looks.map(({ found }) => found), wrong: looks.flatMap(({ wrong }) => wrong) };
}

/** What stands in the way of taking a node out of its clusters now, a sentence each. */
export async function lookForObstacles(
  context: Pick<ConductorContext, 'db' | 'secrets' | 'config'>,
  site: Pick<Site, 'nodes' | 'etcdClusters'>,
  node: string,
  teardown: Pick<TeardownOrder, 'kubernetes' | 'notInClusterOk'>,
): Promise<readonly string[]> {
  const [kubernetes, etcd] = await Promise.all([
    teardown.kubernetes ? lookAtKubernetes(context, node, teardown) : undefined,
    lookAtEtcd(context, site, node),
  ]);
  return [...(kubernetes?.wrong ?? []), ...etcd.wrong];
}

async function lookAtOne(
  context: Pick<ConductorContext, 'db' | 'secrets' | 'config'>,
  cluster: EtcdCluster,
  { node, names }: { readonly node: string; readonly names: ReadonlySet<string> },
): Promise<Look<EtcdLook>> {
  const about = `etcd cluster ${cluster.name}`;
  try {
    const signal = AbortSignal.timeout(lookMs);
    const view = await withCluster(context, cluster, signal, (client) => lookAtCluster(client, cluster));
    const { own, unclear } = matchMembers(view.members, cluster, node, names);
    const plan = planRemoval(view, new Set(own.map(({ id }) => id)), cluster.minimumMembers);
    const wrong = [
      ...(unclear.length > 0 ? [`${about}: nothing says on which node ${unclear.map(nameOf).join(', ')} runs`] : []),
      ...(plan.act === 'refuse' ? [`${about}: ${plan.reason}`] : []),
      ...findTroubles(view, cluster.minimumMembers).map((trouble) => `${about}: ${trouble}`),
    ];
    return { found: { cluster: cluster.name, members: own.map(nameOf) }, wrong };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return {
      found: { cluster: cluster.name, members: null },
      wrong: [`${about} can't be asked now: ${errorChain(error)}`],
    };
  }
}
