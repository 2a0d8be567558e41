import {
  type DrainLook,
  type KeptPodView,
  type KubernetesLook,
  mostNamed,
  namePods,
} from '#conductor/api/teardown-plan.ts';
import { isUnknownNode } from '#conductor/cluster/cluster-faults.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import {
  type ClusterNode,
  isCordoned,
  listPodsOf,
  type PodOutline,
  podName,
  readNode,
  readReady,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { withSharedCluster } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { findDaemonSets, hasDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { type Budget, listBudgets } from '#conductor/cluster/kubernetes/disruption-budgets.ts';
import { kubeletShutdown } from '#conductor/cluster/kubernetes/node-steps.ts';
import { type DrainPlan, outlineOf, planDrain } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { findMissingRights, watchRight } from '#conductor/cluster/kubernetes/rights.ts';
import { nodeStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { whyNotInCluster } from '#conductor/sites/nodes/why-undeployable.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';
import { nameSome } from '#shared/words.ts';

/** An operator waits for it: what does not answer within it is reported as such. Milliseconds. */
export const lookMs = 5_000;

/** Things that one kind of cluster, or one cluster, has of each node, by name. */
export interface Looks<What> {
  readonly nodes: ReadonlyMap<string, { readonly found: What; readonly wrong: readonly string[] }>;
  readonly wrong: readonly string[];
}

/** @throws what is nobody's silence */
export function whyNotAsked(error: unknown): string {
  if (error instanceof AppError) return errorChain(error);
  if (error instanceof DOMException && error.name === 'TimeoutError') return `no answer within ${lookMs / 1000} s`;
  throw error;
}

const atOnce = 8;

const unknownDrain: DrainLook = { evicted: null, kept_by_budgets: null, lost: null };

export const unknownInKubernetes: KubernetesLook = {
  is_member: null,
  ready: null,
  cordoned: null,
  pods: null,
  ...unknownDrain,
};

export type LookOrder = Pick<TeardownOrder, 'kubernetes' | 'notInClusterOk' | 'lacks' | 'timeouts'>;

/** Answers that concern all nodes, asked once. */
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
    const wrong = notInClusterOk ? [] : [whyNotInCluster(seen.why)];
    return { found: { ...unknownInKubernetes, is_member: false }, wrong };
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
    wrong: ready
      ? []
      : [`${name} is ${ready === null ? 'silent' : 'not ready'} in Kubernetes: pods that end are not confirmed`],
  };
}

/** A node of the cluster with its pods, or why it is known that the cluster has no such node. */
type SeenNode =
  | {
      readonly isMember: true;
      /** `null`: nobody says so. */
      readonly ready: boolean | null;
      readonly cordoned: boolean;
      readonly pods: readonly PodOutline[];
    }
  | { readonly isMember: false; readonly why: string };

/**
 * Touches nothing, and keeps little: what is seen of each of a thousand nodes stays until the last of them is read.
 * @throws AppError as `Cluster.request`; `TimeoutError` after `lookMs`
 */
export async function lookAtNode(cluster: Cluster, name: string): Promise<SeenNode> {
  const signal = AbortSignal.timeout(lookMs);
  try {
    const node = await readNode(cluster, name, signal);
    const pods = await listPodsOf(cluster, name, signal);
    return { isMember: true, ready: readyOf(node), cordoned: isCordoned(node), pods: pods.map(outlineOf) };
  } catch (error) {
    if (!isUnknownNode(error)) throw error;
    return { isMember: false, why: errorChain(error) };
  }
}

function readyOf(node: ClusterNode): boolean | null {
  const ready = readReady(node);
  return ready === 'unknown' ? null : ready === 'ready';
}

/** Pure. */
export function describeDrain({ evicted, kept, forced }: DrainPlan): DrainLook {
  return {
    evicted: evicted.length,
    kept_by_budgets: kept.map(({ pod, forbidden }): KeptPodView => {
      const budgets = forbidden.because === 'several budgets' ? forbidden.budgets : [forbidden.budget];
      return {
        pod: podName(pod),
        budgets: budgets.map(({ metadata, status }) => ({
          name: metadata.name,
          current_healthy: status?.currentHealthy ?? null,
          desired_healthy: status?.desiredHealthy ?? null,
          disruptions_allowed: status?.disruptionsAllowed ?? null,
        })),
      };
    }),
    lost: forced.map(({ pod, because }) => ({ pod: podName(pod), because })),
  };
}

/**
 * A sentence for each budget, or set of them, however many nodes it concerns. Pure.
 * @param timeout of the drain; seconds
 */
export function describeKept(
  nodes: Iterable<readonly [string, Pick<DrainLook, 'kept_by_budgets'>]>,
  timeout: number,
): string[] {
  const all = [...nodes].flatMap(([node, { kept_by_budgets: kept }]) =>
    (kept ?? []).map((each) => ({ ...each, node })),
  );
  const groups = Map.groupBy(all, ({ pod, budgets }) =>
    [namespaceOf(pod), ...budgets.map(({ name }) => name)].join(' '),
  );
  return [...groups.values()].map((group) => {
    const names = [...new Set(group.map(({ node }) => node))];
    const which =
      names.length === 1
        ? `${namePods(group)} on ${names.join()}`
        : `${group.length} pods on ${names.length} nodes, ${nameSome(names, mostNamed)}`;
    return `${describeBudgets(group)}: ${which}; the drain asks again until its ${timeout} s are over`;
  });
}

function describeBudgets([first]: readonly KeptPodView[]): string {
  const { pod, budgets } = first ?? { pod: '', budgets: [] };
  const names = budgets.map(({ name }) => `${namespaceOf(pod)}/${name}`).join(' and ');
  const [budget] = budgets;
  if (budgets.length > 1) {
    return `PodDisruptionBudgets ${names} are about the same pods, which nothing evicts before one of the budgets goes`;
  }
  const counts = `(${budget?.current_healthy ?? 'unknown'} healthy, ${budget?.desired_healthy ?? 'unknown'} needed)`;
  const allowed = budget?.disruptions_allowed ?? 0;
  return allowed > 0
    ? `PodDisruptionBudget ${names} allows ${allowed} at a time ${counts}, so of each node these wait for others to go first`
    : `PodDisruptionBudget ${names} allows no disruption ${counts}`;
}

function namespaceOf(pod: string): string {
  return pod.slice(0, pod.indexOf('/'));
}
