import { z } from 'zod';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { meetsRequirement } from '#conductor/cluster/kubernetes/client/node-labels.ts';
import {
  isFinished,
  isReady,
  listAll,
  type PodOutline,
  Requirement,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { evictionVersion } from '#conductor/cluster/kubernetes/evict-pods.ts';

const Budget = z.looseObject({
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
  spec: z.looseObject({
    selector: z
      .looseObject({
        matchLabels: z.record(z.string(), z.string()).nullish(),
        matchExpressions: z.array(Requirement).nullish(),
      })
      .nullish(),
    unhealthyPodEvictionPolicy: z.string().nullish(),
  }),
  // of a budget that its controller has not seen yet there is none, and nothing is allowed
  status: z
    .looseObject({
      disruptionsAllowed: z.number().nullish(),
      currentHealthy: z.number().nullish(),
      desiredHealthy: z.number().nullish(),
    })
    .nullish(),
});
/** A PodDisruptionBudget. */
export type Budget = z.infer<typeof Budget>;

/** Lists all budgets of the cluster. @throws AppError as `Cluster.request` */
export async function listBudgets(cluster: Cluster, signal: AbortSignal): Promise<Budget[]> {
  // a cluster without `policy/v1` evictions may be without its budgets, and has those of before
  const version = await evictionVersion(cluster, signal);
  const path = `/apis/${version}/poddisruptionbudgets`;
  const budgets = await listAll(cluster, path, Budget, { what: 'disruption budgets', signal });
  return version === 'policy/v1beta1' ? budgets.map(ofBeta) : budgets;
}

/** An empty selector takes in the whole namespace; of `policy/v1beta1` it takes in nothing. */
function ofBeta(budget: Budget): Budget {
  const { matchLabels, matchExpressions } = budget.spec.selector ?? {};
  const isEmpty = Object.keys(matchLabels ?? {}).length + (matchExpressions ?? []).length === 0;
  return isEmpty ? { ...budget, spec: { ...budget.spec, selector: null } } : budget;
}

/** Why an eviction would be refused as things are now. */
export type Forbidden =
  | { readonly because: 'no disruption'; readonly budget: Budget }
  /** The budget's disruptions are used up by those that go before. */
  | { readonly because: 'too few disruptions'; readonly budget: Budget }
  /** Which the API server refuses to judge. */
  | { readonly because: 'several budgets'; readonly budgets: readonly Budget[] };

export interface KeptPod {
  readonly pod: PodOutline;
  readonly forbidden: Forbidden;
}

/**
 * Returns which of the pods a budget would keep if they were evicted now, in this order. As the API server decides
 * (pkg/registry/core/pod/storage/eviction.go). Pure.
 */
export function whatIsKept(pods: readonly PodOutline[], budgets: readonly Budget[]): KeptPod[] {
  const used = new Map<Budget, number>();
  return pods.flatMap((pod): KeptPod[] => {
    if (goesFreely(pod)) return [];
    const own = budgets.filter((each) => isOf(each, pod));
    if (own.length > 1) return [{ pod, forbidden: { because: 'several budgets', budgets: own } }];
    const [budget] = own;
    if (!budget || allowsUnready(budget, pod)) return [];
    const allowed = budget.status?.disruptionsAllowed ?? 0;
    const count = (used.get(budget) ?? 0) + 1;
    used.set(budget, count);
    if (count <= allowed) return [];
    return [{ pod, forbidden: { because: allowed > 0 ? 'too few disruptions' : 'no disruption', budget } }];
  });
}

function goesFreely(pod: PodOutline): boolean {
  return isFinished(pod) || pod.status?.phase === 'Pending' || Boolean(pod.metadata.deletionTimestamp);
}

function isOf({ metadata, spec: { selector } }: Budget, pod: PodOutline): boolean {
  if (!selector || metadata.namespace !== pod.metadata.namespace) return false;
  const labels = pod.metadata.labels ?? {};
  const asLabelled = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    asLabelled && (selector.matchExpressions ?? []).every((each) => isValid(each) && meetsRequirement(each, labels))
  );
}

/** The API server ignores a budget whose selector it can't read (metav1.LabelSelectorAsSelector). */
function isValid({ operator, values }: Requirement): boolean {
  const count = values?.length ?? 0;
  if (operator === 'In' || operator === 'NotIn') return count > 0;
  return (operator === 'Exists' || operator === 'DoesNotExist') && count === 0;
}

/** A pod that is not ready counts for no budget that has enough without it. */
function allowsUnready({ spec, status }: Budget, pod: PodOutline): boolean {
  if (isReady(pod)) return false;
  const { currentHealthy, desiredHealthy } = status ?? {};
  return (
    spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
    ((desiredHealthy ?? 0) > 0 && (currentHealthy ?? 0) >= (desiredHealthy ?? 0))
  );
}
