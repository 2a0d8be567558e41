import { type DrainLook, type KeptPodView, mostNamed, namePods } from '#conductor/api/teardown-plan.ts';
import { podName } from '#conductor/cluster/kubernetes/objects.ts';
import type { DrainPlan } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { nameSome } from '#shared/name-some.ts';

export const unknownDrain: DrainLook = { evicted: null, kept_by_budgets: null, lost: null };

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
