import type { ConductorContext } from '#conductor/context.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import type { EtcdSite } from '#conductor/sites/revisions/read-etcd-site.ts';
import type { EtcdCluster } from '#conductor/sites/site.ts';
import { nameOf } from '#conductor/teardown/etcd/cluster-view.ts';
import { findTroubles } from '#conductor/teardown/etcd/find-troubles.ts';
import { lookAtCluster } from '#conductor/teardown/etcd/look-at-cluster.ts';
import { matchMembers } from '#conductor/teardown/etcd/match-members.ts';
import { withCluster } from '#conductor/teardown/etcd/open-cluster.ts';
import { planRemoval } from '#conductor/teardown/etcd/plan-removal.ts';
import type { Cluster } from '#conductor/teardown/kubernetes/cluster.ts';
import { isCordoned, isReady } from '#conductor/teardown/kubernetes/cordon.ts';
import { hasDaemonSet } from '#conductor/teardown/kubernetes/daemon-sets.ts';
import { nodeStepDefaults } from '#conductor/teardown/kubernetes/node-steps.ts';
import { isUnknownNode, listPodsOf, readNode } from '#conductor/teardown/kubernetes/objects.ts';
import { withSharedCluster } from '#conductor/teardown/kubernetes/share-cluster.ts';
import { kubeletShutdown } from '#conductor/teardown/kubernetes/shutdown-kubelet.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** An operator waits for it: what does not answer within it is told as such. */
const lookMs = 5_000;
const atOnce = 8;

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

/** A node in its clusters, and what stands in its way now; that may mend itself before its turn comes. */
export interface NodeLook {
  /** null = there is no Kubernetes. */
  readonly kubernetes: KubernetesLook | null;
  readonly etcd: readonly EtcdLook[];
  readonly wrong: readonly string[];
}

export interface ClustersLook {
  readonly nodes: ReadonlyMap<string, NodeLook>;
  /** What stands in the way of all of them. */
  readonly wrong: readonly string[];
}

type Context = Pick<ConductorContext, 'db' | 'secrets' | 'config' | 'database'>;

/** What one kind of cluster, or one cluster, has of each node, by name. */
interface Looks<What> {
  readonly nodes: ReadonlyMap<string, { readonly found: What; readonly wrong: readonly string[] }>;
  readonly wrong: readonly string[];
}

const unknown: KubernetesLook = { is_member: null, ready: null, cordoned: null, pods: null };

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
        kubernetes: kubernetes ? (inKubernetes?.found ?? unknown) : null,
        etcd: inEtcd.map(({ found }) => found),
        wrong: [...(inKubernetes?.wrong ?? []), ...inEtcd.flatMap(({ wrong }) => wrong)],
      },
    ];
  });
  return { nodes: new Map(looks), wrong: [...(kubernetes?.wrong ?? []), ...etcd.flatMap(({ wrong }) => wrong)] };
}

type LookOrder = Pick<TeardownOrder, 'kubernetes' | 'notInClusterOk' | 'lacks'>;

async function lookAtKubernetes(
  { config, database }: Context,
  names: readonly string[],
  { notInClusterOk, lacks }: LookOrder,
): Promise<Looks<KubernetesLook>> {
  if (lacks !== undefined) return { nodes: new Map(), wrong: [lacks] };
  const nodes = new Map<string, { found: KubernetesLook; wrong: string[] }>();
  const unreachable = new Set<string>();
  const missing: string[] = [];
  // who does not answer for one is not asked for hundreds
  const goOn = () => unreachable.size === 0;
  try {
    await withSharedCluster(database, config.kubeconfigFile, async (cluster) => {
      const look = async (name: string): Promise<void> => {
        try {
          nodes.set(name, await lookAtNode(cluster, name, notInClusterOk));
        } catch (error) {
          unreachable.add(whyNotAsked(error));
        }
      };
      const [first, ...others] = names;
      if (first !== undefined) await look(first);
      if (goOn()) await inParallel(others, look, { atOnce, goOn });
      if (goOn()) missing.push(...(await missesDaemonSet(cluster)));
    });
  } catch (error) {
    unreachable.add(whyNotAsked(error));
  }
  const [why] = unreachable;
  return { nodes, wrong: [...missing, ...(why === undefined ? [] : [`Kubernetes can't be asked now: ${why}`])] };
}

/** @throws what is nobody's silence */
function whyNotAsked(error: unknown): string {
  if (error instanceof AppError) return errorChain(error);
  if (error instanceof DOMException && error.name === 'TimeoutError') return `no answer within ${lookMs / 1000} s`;
  throw error;
}

async function missesDaemonSet(cluster: Cluster): Promise<string[]> {
  if (await hasDaemonSet(cluster, kubeletShutdown, AbortSignal.timeout(lookMs))) return [];
  const { shutdownKubeletTimeout: seconds } = nodeStepDefaults;
  return [
    `no daemon set of kubelet-shutdown.yaml: cluster.shutdown_kubelet waits ${seconds} s in vain; kubectl apply -f kubelet-shutdown.yaml`,
  ];
}

async function lookAtNode(cluster: Cluster, name: string, notInClusterOk: boolean) {
  const signal = AbortSignal.timeout(lookMs);
  try {
    const found = await readNode(cluster, name, signal);
    const pods = await listPodsOf(cluster, name, signal);
    const ready = isReady(found);
    return {
      found: { is_member: true, ready, cordoned: isCordoned(found), pods: pods.length },
      wrong: ready ? [] : [`${name} is not ready in Kubernetes: pods that end are not confirmed`],
    };
  } catch (error) {
    if (!isUnknownNode(error)) throw error;
    const hint = `${errorChain(error)} (--param not-in-cluster-ok=true, if it was never part of it)`;
    return { found: { ...unknown, is_member: false }, wrong: notInClusterOk ? [] : [hint] };
  }
}

/** Of one cluster, looked at once: what it has on each node, and whether that may leave now. */
async function lookAtEtcd(
  context: Context,
  cluster: EtcdCluster,
  { names, all }: { readonly names: readonly string[]; readonly all: ReadonlySet<string> },
): Promise<Looks<EtcdLook>> {
  const about = `etcd cluster ${cluster.name}`;
  try {
    const signal = AbortSignal.timeout(lookMs);
    const view = await withCluster(context, cluster, signal, (client) => lookAtCluster(client, cluster));
    const looks = names.map((name) => {
      const { own, unclear } = matchMembers(view.members, cluster, name, all);
      const plan = planRemoval(view, new Set(own.map(({ id }) => id)), cluster.minimumMembers);
      const wrong = [
        ...(unclear.length > 0 ? [`${about}: nothing says on which node ${unclear.map(nameOf).join(', ')} runs`] : []),
        ...(plan.act === 'refuse' ? [`${about}: ${plan.reason}`] : []),
      ];
      return [name, { found: { cluster: cluster.name, members: own.map(nameOf) }, wrong }] as const;
    });
    const troubles = findTroubles(view, cluster.minimumMembers).map((trouble) => `${about}: ${trouble}`);
    return { nodes: new Map(looks), wrong: troubles };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const nobody = { found: { cluster: cluster.name, members: null }, wrong: [] };
    return {
      nodes: new Map(names.map((name) => [name, nobody])),
      wrong: [`${about} can't be asked now: ${errorChain(error)}`],
    };
  }
}
