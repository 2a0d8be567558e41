import { type DeleteOptions, deleteObject, isFinished } from '#test/simulators/kubernetes/deletion.ts';
import { badRequest, conflict, Refusal } from '#test/simulators/kubernetes/refusal.ts';
import { conditionOf, phaseOf, type Resource } from '#test/simulators/kubernetes/resource.ts';
import { matchesLabels } from '#test/simulators/kubernetes/selectors.ts';
import type { Store } from '#test/simulators/kubernetes/store.ts';

export interface Eviction {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly deleteOptions?: DeleteOptions;
}

/**
 * `POST …/pods/NAME/eviction` (pkg/registry/core/pod/storage/eviction.go): as a deletion, unless a budget has no disruption
 * left. @throws Refusal 429 with the budget as its cause
 */
export function evict(store: Store, pod: Resource, eviction: Eviction, version: 'v1' | 'v1beta1'): void {
  const known = version === 'v1' ? ['policy/v1', 'policy/v1beta1'] : ['policy/v1beta1'];
  if (!known.includes(eviction.apiVersion ?? '')) {
    throw badRequest(
      `no kind "${eviction.kind ?? ''}" is registered for version "${eviction.apiVersion ?? ''}" in scheme`,
    );
  }
  const { uid } = eviction.deleteOptions?.preconditions ?? {};
  if (uid !== undefined && uid !== pod.metadata.uid) throw conflict('pods', pod.metadata.name, 'the UID is another');
  if (!goesFreely(pod)) askBudget(store, pod);
  deleteObject(store, 'pods', pod, eviction.deleteOptions);
}

function goesFreely(pod: Resource): boolean {
  return isFinished(pod) || phaseOf(pod) === 'Pending' || pod.metadata.deletionTimestamp !== undefined;
}

function askBudget(store: Store, pod: Resource): void {
  const { namespace, labels, name } = pod.metadata;
  const budgets = store
    .list('poddisruptionbudgets', namespace)
    .filter(({ spec }) => matchesLabels(spec?.['selector'], labels));
  const [budget] = budgets;
  if (!budget) return;
  if (budgets.length > 1) {
    throw new Refusal(
      500,
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  const { healthy, desired } = budgetState(store, budget);
  if (healthy > desired) return;
  const budgetName = budget.metadata.name;
  throw new Refusal(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    name,
    causes: [
      {
        reason: 'DisruptionBudget',
        message: `The disruption budget ${budgetName} needs ${desired} healthy pods and has ${healthy} currently`,
      },
    ],
  });
}

/** Computes what the disruption controller writes into the budget's status. */
export function budgetState(
  store: Store,
  budget: Resource,
): { readonly healthy: number; readonly desired: number; readonly expected: number } {
  const pods = store
    .list('pods', budget.metadata.namespace)
    .filter(({ metadata }) => matchesLabels(budget.spec?.['selector'], metadata.labels));
  const healthy = pods.filter(
    (pod) => conditionOf(pod, 'Ready') === 'True' && pod.metadata.deletionTimestamp === undefined,
  );
  const owners = new Set(pods.flatMap(({ metadata }) => metadata.ownerReferences?.map(({ uid }) => uid) ?? []));
  const replicas = store
    .list('replicasets', budget.metadata.namespace)
    .filter(({ metadata }) => owners.has(metadata.uid))
    .reduce((sum, { spec }) => sum + Number(spec?.['replicas'] ?? 0), 0);
  const expected = replicas > 0 ? replicas : pods.length;
  const { minAvailable, maxUnavailable } = budget.spec ?? {};
  const share = (value: unknown): number =>
    typeof value === 'string' && value.endsWith('%')
      ? Math.ceil((expected * Number.parseInt(value, 10)) / 100)
      : Number(value);
  const desired = minAvailable === undefined ? Math.max(0, expected - share(maxUnavailable ?? 0)) : share(minAvailable);
  return { healthy: healthy.length, desired, expected };
}
