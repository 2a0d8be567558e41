import type { KubernetesLook } from '#conductor/api/teardown-plan.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import { findDaemonSets, hasDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { type Budget, listBudgets } from '#conductor/cluster/kubernetes/disruption-budgets.ts';
import type { PodOutline } from '#conductor/cluster/kubernetes/objects.ts';
import { planDrain } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { findMissingRights, watchRight } from '#conductor/cluster/kubernetes/rights.ts';
import { withSharedCluster } from '#conductor/cluster/kubernetes/share-cluster.ts';
import { kubeletShutdown } from '#conductor/cluster/kubernetes/shutdown-kubelet.ts';
import { nodeStepDefaults } from '#conductor/model/cluster-timeouts.ts';
import { describeDrain, describeKept, unknownDrain } from '#conductor/sites/actions/teardown-plan/describe-drain.ts';
import { lookAtNode, type SeenNode } from '#conductor/sites/actions/teardown-plan/look-at-node.ts';
import { type Looks, lookMs, whyNotAsked } from '#conductor/sites/actions/teardown-plan/looks.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { inParallel } from '#shared/in-parallel.ts';

const atOnce = 8;

export const unknownInKubernetes: KubernetesLook = {
  is_member: null,
  ready: null,
  cordoned: null,
  pods: null,
  ...unknownDrain,
};

export type LookOrder = Pick<TeardownOrder, 'kubernetes' | 'notInClusterOk' | 'lacks' | 'timeouts'>;

/** What concerns all nodes, asked once. */
interface Shared {
  readonly hasDaemonSet: (pod: PodOutline) => boolean;
  readonly budgets: readonly Budget[] | undefined;
}

/** Asks for each node and its pods, and once for what concerns all of them. Touches nothing. */
export async function lookAtKubernetes(
  { config, database }: Pick<SitesContext, 'config' | 'database'>,
  names: readonly string[],
  order: LookOrder,
): Promise<Looks<KubernetesLook>> {
  if (order.lacks !== undefined) return { nodes: new Map(), wrong: [order.lacks] };
  const seen = new Map<string, SeenNode>();
  const wrong: string[] = [];
  const unreachable = new Set<string>();
  let shared: Shared | undefined;
  // who does not answer for one is not asked for hundreds
  const goOn = () => unreachable.size === 0;
  const ask = (work: () => Promise<void>): Promise<void> =>
    work().catch((error: unknown) => void unreachable.add(whyNotAsked(error)));
  await ask(() =>
    withSharedCluster(database, config.kubeconfigFile, async (cluster) => {
      const look = (name: string) => ask(async () => void seen.set(name, await lookAtNode(cluster, name)));
      const [first, ...others] = names;
      if (first !== undefined) await look(first);
      if (goOn()) await inParallel(others, look, { atOnce, goOn });
      if (goOn()) wrong.push(...(await missesDaemonSet(cluster)), ...(await missesWatch(cluster)));
      if (goOn()) shared = await lookAtAll(cluster, podsOf(seen), wrong);
    }),
  );
  const [why] = unreachable;
  if (why !== undefined) wrong.push(`Kubernetes can't be asked now: ${why}`);
  const nodes = new Map([...seen].map(([name, each]) => [name, describe(name, each, { shared, order })]));
  const kept = [...nodes].map(([name, { found }]) => [name, found] as const);
  return { nodes, wrong: [...wrong, ...describeKept(kept, order.timeouts.drainTimeout)] };
}

async function missesWatch(cluster: Cluster): Promise<string[]> {
  const missing = await findMissingRights(cluster, [watchRight], AbortSignal.timeout(lookMs));
  return missing.map(
    (right) =>
      `the account of BATON_KUBECONFIG may not ${right}: each node that is waited for is asked for by itself, and seen later; give its role that right`,
  );
}

async function missesDaemonSet(cluster: Cluster): Promise<string[]> {
  if (await hasDaemonSet(cluster, kubeletShutdown, AbortSignal.timeout(lookMs))) return [];
  const { shutdownKubeletTimeout: seconds } = nodeStepDefaults;
  return [
    `no daemon set of kubelet-shutdown.yaml: cluster.shutdown_kubelet waits ${seconds} s in vain; kubectl apply -f conductor/cluster/kubernetes/kubelet-shutdown.yaml`,
  ];
}

function podsOf(seen: ReadonlyMap<string, SeenNode>): PodOutline[] {
  return [...seen.values()].flatMap((each) => (each.isMember ? each.pods : []));
}

async function lookAtAll(cluster: Cluster, pods: readonly PodOutline[], wrong: string[]): Promise<Shared> {
  const hasSet = await findDaemonSets(cluster, pods, AbortSignal.timeout(lookMs));
  // nothing else needs the right to read them
  const budgets = await listBudgets(cluster, AbortSignal.timeout(lookMs)).catch((error: unknown) => {
    wrong.push(`disruption budgets can't be read now, so which pods they keep is unknown: ${whyNotAsked(error)}`);
    return undefined;
  });
  return { hasDaemonSet: hasSet, budgets };
}

function describe(
  name: string,
  seen: SeenNode,
  { shared, order: { notInClusterOk } }: { readonly shared: Shared | undefined; readonly order: LookOrder },
): { readonly found: KubernetesLook; readonly wrong: readonly string[] } {
  if (!seen.isMember) {
    const hint = `${seen.why} (--param not-in-cluster-ok=true, if it was never part of it)`;
    return { found: { ...unknownInKubernetes, is_member: false }, wrong: notInClusterOk ? [] : [hint] };
  }
  const { ready, cordoned, pods } = seen;
  const plan = shared && planDrain(pods, shared.hasDaemonSet, shared.budgets ?? []);
  const look = plan ? describeDrain(plan) : unknownDrain;
  return {
    found: {
      is_member: true,
      ready,
      cordoned,
      pods: pods.length,
      ...look,
      kept_by_budgets: shared?.budgets ? look.kept_by_budgets : null,
    },
    wrong: ready ? [] : [`${name} is not ready in Kubernetes: pods that end are not confirmed`],
  };
}
