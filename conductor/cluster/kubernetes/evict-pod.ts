import { z } from 'zod';
import { apiPath, type Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import { type Pod, parse, podName } from '#conductor/cluster/kubernetes/objects.ts';
import { causesOf, isAbsent, type RefusalCause } from '#conductor/cluster/kubernetes/refusal.ts';
import type { RoundMessage } from '#conductor/cluster/round.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

const Discovered = z.looseObject({
  resources: z.array(
    z.looseObject({ name: z.string(), kind: z.string(), group: z.string().optional(), version: z.string().optional() }),
  ),
});

/** `policy/v1`, or `policy/v1beta1` where the cluster is older than 1.22. */
export async function evictionVersion(cluster: Cluster, signal: AbortSignal): Promise<string> {
  const { resources } = parse(Discovered, await cluster.request('GET', '/api/v1', { signal }), 'discovery of /api/v1');
  const eviction = resources.find(({ name, kind }) => name === 'pods/eviction' && kind === 'Eviction');
  if (!eviction) {
    throw new AppError('not_supported', `the Kubernetes API server at ${cluster.server} offers no eviction of pods`);
  }
  return `${eviction.group ?? 'policy'}/${eviction.version ?? 'v1'}`;
}

export interface EvictOptions {
  readonly version: string;
  readonly gracePeriodSeconds: number;
  readonly signal: AbortSignal;
}

/** What stood in the way of an eviction. */
export interface Obstacle {
  /** Absent: nothing is left to be evicted, which is nobody's trouble. */
  readonly message?: RoundMessage;
  /** Else it may have come about all the same: nothing was answered that says so. */
  readonly isRefused: boolean;
  /** A budget's refusal: what the same budgets are about is refused, too. */
  readonly isBudgets: boolean;
  /** That may be for want of the right. */
  readonly forbidden?: AppError;
}

/**
 * Asks for the pod to go, with its grace period; its budget may forbid it for now.
 * @returns `undefined`: the eviction was accepted
 */
export async function evictPod(cluster: Cluster, pod: Pod, options: EvictOptions): Promise<Obstacle | undefined> {
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
    return { message: `Pod ${podName(pod)} can't be evicted: ${errorChain(error)}`, error: true, ...named(pod) };
  }
  // "The disruption budget web needs 2 healthy pods and has 2 currently"
  const budgetName = /^The disruption budget (\S+)/.exec(budget.message ?? '')?.[1];
  const which = budgetName === undefined ? 'its budget' : `PodDisruptionBudget ${pod.metadata.namespace}/${budgetName}`;
  return {
    message: `Pod ${podName(pod)} may not be evicted now: ${which} forbids it (${budget.message ?? ''})`,
    error: true,
    ...named(pod),
  };
}

function budgetOf(error: AppError): RefusalCause | undefined {
  return causesOf(error).find(({ reason }) => reason === 'DisruptionBudget');
}

export function named(pod: Pod): { readonly name: string; readonly kind: 'Pod' } {
  return { name: podName(pod), kind: 'Pod' };
}
