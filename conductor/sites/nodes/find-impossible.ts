import { type EtcdCluster, nameOf } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { matchMembers } from '#conductor/cluster/etcd/match-members.ts';
import { withCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import { planRemoval } from '#conductor/cluster/etcd/plan-removal.ts';
import type { EtcdWork } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import { findLastReady, findMissingNodeRights } from '#conductor/cluster/kubernetes/guard-changes.ts';
import { ClusterNode, listAll, nodesPath } from '#conductor/cluster/kubernetes/objects.ts';
import { rightsError } from '#conductor/cluster/kubernetes/rights.ts';
import { withSharedCluster } from '#conductor/cluster/kubernetes/share-cluster.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { withCredentials } from '#conductor/sites/credentials.ts';
import type { EtcdSite } from '#conductor/sites/revisions/read-etcd-site.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** An operator, or a node's turn, waits for it. Milliseconds. */
const lookMs = 5_000;
const atOnce = 8;

type Context = Pick<SitesContext, 'db' | 'secrets' | 'database'> & {
  readonly config: Pick<SitesContext['config'], 'kubeconfigFile' | 'etcdTlsDirectory'>;
};

/** Nodes that are to leave their clusters, in this order. */
export interface Leaving {
  readonly names: readonly string[];
  /** They don't come back: those before in the list are missing by then. */
  readonly staysOut: boolean;
  /** Leaves out the guard for the last Ready node. */
  readonly force: boolean;
  readonly kubernetes: boolean;
}

/**
 * Why nodes can't leave their clusters, whatever is waited for; those that may are absent. What can't be asked now, or may
 * mend itself, forbids nothing. Touches nothing.
 */
export async function findImpossible(
  context: Context,
  { nodes, etcdClusters }: Pick<EtcdSite, 'nodes' | 'etcdClusters'>,
  leaving: Leaving,
): Promise<ReadonlyMap<string, string>> {
  const [kubernetes, etcd] = await Promise.all([
    leaving.kubernetes ? askKubernetes(context, leaving) : new Map<string, string>(),
    inParallel(etcdClusters, (cluster) => findTooSmall(context, cluster, { ...leaving, all: nodes }), { atOnce }),
  ]);
  return new Map(
    leaving.names.flatMap((name): [string, string][] => {
      const reasons = [...etcd, kubernetes].flatMap((each) => each.get(name) ?? []);
      return reasons.length === 0 ? [] : [[name, reasons.join('; ')]];
    }),
  );
}

/** Why the node's members can't leave their clusters, whatever is waited for. As `findImpossible`. */
export async function whyNeededByEtcd(
  context: Context,
  { nodes, etcdClusters }: EtcdWork['site'],
  name: string,
): Promise<string | undefined> {
  const leaving = { names: [name], staysOut: false, force: true, kubernetes: false };
  return (await findImpossible(context, { nodes: new Set(nodes.keys()), etcdClusters }, leaving)).get(name);
}

async function findTooSmall(
  context: Context,
  cluster: EtcdCluster,
  { names, staysOut, all }: Leaving & { readonly all: ReadonlySet<string> },
): Promise<ReadonlyMap<string, string>> {
  const signal = AbortSignal.timeout(lookMs);
  const view = await withCluster(withCredentials(context), cluster, signal, (client) =>
    lookAtCluster(client, cluster),
  ).catch(forbidsNothing);
  const found = new Map<string, string>();
  const gone = new Set<string>();
  for (const name of view ? names : []) {
    const { own, unclear } = matchMembers(view?.members ?? [], cluster, name, all);
    const about = `etcd cluster ${cluster.name}`;
    if (unclear.length > 0) {
      found.set(name, `${about}: nothing says on which node ${unclear.map(nameOf).join(', ')} runs`);
      continue;
    }
    if (!view || own.length === 0) continue;
    const leaving = new Set([...(staysOut ? gone : []), ...own.map(({ id }) => id)]);
    const plan = planRemoval(view, leaving, cluster.minimumMembers);
    if (plan.act === 'refuse' && !plan.mayPass) found.set(name, `${about}: ${plan.reason}`);
    for (const { id } of own) gone.add(id);
  }
  return found;
}

async function askKubernetes({ config, database }: Context, leaving: Leaving): Promise<ReadonlyMap<string, string>> {
  const signal = AbortSignal.timeout(lookMs);
  const seen = await withSharedCluster(database, config.kubeconfigFile, async (cluster) => {
    const nodes = await listAll(cluster, nodesPath, ClusterNode, { what: 'nodes', signal });
    const names = leaving.names.filter((name) => nodes.some(({ metadata }) => metadata.name === name));
    return { nodes, names, missing: await findMissingNodeRights(cluster, { drained: names, deletes: true }, signal) };
  }).catch(forbidsNothing);
  if (!seen) return new Map();
  if (seen.missing.length > 0) {
    const { message } = rightsError('take it out of Kubernetes', seen.missing);
    return new Map(seen.names.map((name) => [name, message]));
  }
  const last = leaving.force ? [] : findLastReady(seen.nodes, leaving);
  return new Map([...last].map(([name, why]) => [name, `${why}: force=true takes it out all the same`]));
}

/** @throws what is no cluster's silence */
function forbidsNothing(error: unknown): undefined {
  if (error instanceof AppError || (error instanceof DOMException && error.name === 'TimeoutError')) return undefined;
  throw error;
}
