import { z } from 'zod';
import type { Announce, ClusterChange } from '#conductor/cluster/cluster-changes.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { isReady, type Pod, podName } from '#conductor/cluster/kubernetes/client/objects.ts';
import { parseReply } from '#conductor/cluster/kubernetes/client/read-answer.ts';
import { causesOf, isAbsent, type RefusalCause } from '#conductor/cluster/kubernetes/client/refusal.ts';
import { apiPath } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import type { RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** Requests at the same time: an API server shares itself between its clients. */
const atOnce = 16;

interface Eviction {
  readonly pod: Pod;
  readonly change: ClusterChange;
}

export interface Evicted extends Eviction {
  readonly obstacle: Obstacle | undefined;
}

/**
 * Evicts pods, each announced before. Of pods that the same budgets are about as many again are asked for as were let go,
 * and none after the first that a budget keeps: under a tight one most would be refused at each look.
 * @returns what was asked for, up to the first that the account may not have, and a message for each that was not
 */
export async function evictPods(
  cluster: Cluster,
  evictions: readonly Eviction[],
  { announce, ...options }: EvictOptions & { readonly announce: Announce | undefined },
): Promise<{ readonly asked: readonly Evicted[]; readonly spared: readonly RoundMessage[] }> {
  const kinds = [...Map.groupBy(evictions, ({ pod }) => kindOf(pod)).values()].map((all) => ({
    left: [...all],
    asked: 0,
    keptWith: undefined as Pod | undefined,
  }));
  const asked: Evicted[] = [];
  const mayGoOn = (): boolean => asked.every(({ obstacle }) => obstacle?.forbidden === undefined);
  const evict = async ({ kind, pod, change }: Eviction & { readonly kind: (typeof kinds)[number] }): Promise<void> => {
    const obstacle = await evictPod(cluster, pod, options);
    kind.asked += 1;
    if (obstacle?.isBudgets) kind.keptWith = pod;
    asked.push({ pod, change, obstacle });
  };
  while (mayGoOn()) {
    const wave = kinds
      .filter(({ keptWith }) => keptWith === undefined)
      .flatMap((kind) => kind.left.splice(0, Math.max(1, kind.asked)).map((each) => ({ ...each, kind })));
    if (wave.length === 0) break;
    await announce?.(wave.map(({ change }) => change));
    await inParallel(wave, evict, { atOnce });
  }
  const spared = kinds.flatMap(({ left, keptWith }) =>
    keptWith ? left.map(({ pod }) => describeSpared(pod, keptWith)) : [],
  );
  return { asked, spared };
}

/**
 * Returns a key of pods that every budget treats alike: budgets select by labels, and may count pods that are not ready in
 * another way.
 */
function kindOf(pod: Pod): string {
  const { namespace, labels } = pod.metadata;
  const sorted = Object.entries(labels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([namespace, sorted, isReady(pod), pod.status?.phase]);
}

function describeSpared(pod: Pod, keptWith: Pod): RoundMessage {
  const message = `Pod ${podName(pod)} waits: the budget of pod ${podName(keptWith)} forbids it, too`;
  return { message, error: true, ...podReference(pod) };
}

const Discovered = z.looseObject({
  resources: z.array(
    z.looseObject({ name: z.string(), kind: z.string(), group: z.string().optional(), version: z.string().optional() }),
  ),
});

/** Finds the version of the eviction API: `policy/v1`, or `policy/v1beta1` where the cluster is older than 1.22. */
export async function evictionVersion(cluster: Cluster, signal: AbortSignal): Promise<string> {
  const { resources } = parseReply(
    Discovered,
    await cluster.request('GET', '/api/v1', { signal }),
    'discovery of /api/v1',
  );
  const eviction = resources.find(({ name, kind }) => name === 'pods/eviction' && kind === 'Eviction');
  if (!eviction) {
    throw new AppError('not_supported', `the Kubernetes API server at ${cluster.server} offers no eviction of pods`);
  }
  return `${eviction.group ?? 'policy'}/${eviction.version ?? 'v1'}`;
}

interface EvictOptions {
  readonly version: string;
  readonly gracePeriodSeconds: number;
  readonly signal: AbortSignal;
}

/** An obstacle that stood in the way of an eviction. */
interface Obstacle {
  /** Absent: nothing is left to be evicted, which is nobody's trouble. */
  readonly message?: RoundMessage;
  /** Else it may have come about all the same: nothing was answered that says so. */
  readonly isRefused: boolean;
  /** A budget's refusal: what the same budgets are about is refused, too. */
  readonly isBudgets: boolean;
  /** The refusal, where that may be for want of the right. */
  readonly forbidden?: AppError;
}

/**
 * Asks for the pod to go, with its grace period; its budget may forbid it for now.
 * @returns `undefined`: the eviction was accepted
 */
async function evictPod(cluster: Cluster, pod: Pod, options: EvictOptions): Promise<Obstacle | undefined> {
  const { version, gracePeriodSeconds, signal } = options;
  const { name, namespace, uid } = pod.metadata;
  const body = {
    apiVersion: version,
    kind: 'Eviction',
    metadata: { name, namespace },
    // another pod of that name is another one's: the next look decides about it
    deleteOptions: { gracePeriodSeconds, preconditions: { uid } },
  };
  try {
    const path = `${apiPath('/api/v1/namespaces', namespace, 'pods', name)}/eviction`;
    await cluster.request('POST', path, { body, signal });
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    // that pod is gone, or is another by now, and not by this eviction
    if (isAbsent(error, { kind: 'pods', name }) || error.code === 'conflict') {
      return { isRefused: true, isBudgets: false };
    }
    const status = Number(error.details['status']);
    return {
      message: obstacle(pod, error),
      isRefused: status >= 400 && status < 500,
      isBudgets: budgetOf(error) !== undefined,
      ...(status === 403 ? { forbidden: error } : {}),
    };
  }
}

/** An eviction that is refused concerns that pod alone: the others go on. */
function obstacle(pod: Pod, error: AppError): RoundMessage {
  const budget = budgetOf(error);
  if (!budget) {
    return { message: `Pod ${podName(pod)} can't be evicted: ${errorChain(error)}`, error: true, ...podReference(pod) };
  }
  // "The disruption budget web needs 2 healthy pods and has 2 currently"
  const budgetName = /^The disruption budget (\S+)/.exec(budget.message ?? '')?.[1];
  const which = budgetName === undefined ? 'its budget' : `PodDisruptionBudget ${pod.metadata.namespace}/${budgetName}`;
  return {
    message: `Pod ${podName(pod)} may not be evicted now: ${which} forbids it (${budget.message ?? ''})`,
    error: true,
    ...podReference(pod),
  };
}

function budgetOf(error: AppError): RefusalCause | undefined {
  return causesOf(error).find(({ reason }) => reason === 'DisruptionBudget');
}

export function podReference(pod: Pod): { readonly name: string; readonly kind: 'Pod' } {
  return { name: podName(pod), kind: 'Pod' };
}
