import { podName } from '#conductor/teardown/kubernetes/objects.ts';
import type { DrainPlan, ForcedFor } from '#conductor/teardown/kubernetes/plan-drain.ts';

/** What a drain would meet on a node, as its operator reads it before. `null`: nobody could be asked. */
export interface DrainLook {
  /** Pods that go. */
  readonly evicted: number | null;
  /** Pods that a budget keeps as things are now. */
  readonly kept_by_budgets: readonly KeptPodView[] | null;
  /** Pods that go all the same, though something is lost with them. */
  readonly lost: readonly LostPodView[] | null;
}

export interface KeptPodView {
  /** `namespace/name` */
  readonly pod: string;
  readonly budgets: readonly {
    readonly name: string;
    /** Pods that are well, and that have to be. */
    readonly current_healthy: number | null;
    readonly desired_healthy: number | null;
    readonly disruptions_allowed: number | null;
  }[];
}

export interface LostPodView {
  readonly pod: string;
  /** `unmanaged`: no controller makes it anew. `local data`: what is in its emptyDir volumes. */
  readonly because: ForcedFor;
}

export const unknownDrain: DrainLook = { evicted: null, kept_by_budgets: null, lost: null };

/** So many pods are named in a sentence. */
const mostNamed = 10;

/** @param timeout of the drain; seconds. Pure. */
export function describeDrain(
  plan: DrainPlan,
  timeout: number,
): { readonly look: DrainLook; readonly wrong: readonly string[] } {
  const kept = plan.kept.map(({ pod, forbidden }): KeptPodView => {
    const budgets = forbidden.because === 'no disruption' ? [forbidden.budget] : forbidden.budgets;
    return {
      pod: podName(pod),
      budgets: budgets.map(({ metadata, status }) => ({
        name: metadata.name,
        current_healthy: status?.currentHealthy ?? null,
        desired_healthy: status?.desiredHealthy ?? null,
        disruptions_allowed: status?.disruptionsAllowed ?? null,
      })),
    };
  });
  return {
    look: {
      evicted: plan.evicted.length,
      kept_by_budgets: kept,
      lost: plan.forced.map(({ pod, because }) => ({ pod: podName(pod), because })),
    },
    wrong: tellKept(kept, timeout),
  };
}

/** A sentence for each budget, or set of them. */
function tellKept(kept: readonly KeptPodView[], timeout: number): string[] {
  const namespaceOf = (pod: string): string => pod.slice(0, pod.indexOf('/'));
  const groups = Map.groupBy(kept, ({ pod, budgets }) =>
    [namespaceOf(pod), ...budgets.map(({ name }) => name)].join(' '),
  );
  return [...groups.values()].map((group) => {
    const [{ pod, budgets } = { pod: '', budgets: [] }] = group;
    const which = budgets.map(({ name }) => `${namespaceOf(pod)}/${name}`).join(' and ');
    const [budget] = budgets;
    const why =
      budgets.length > 1
        ? `PodDisruptionBudgets ${which} are about the same pods, which nothing evicts before one of the budgets goes`
        : `PodDisruptionBudget ${which} allows no disruption (${budget?.current_healthy ?? 'unknown'} healthy, ${budget?.desired_healthy ?? 'unknown'} needed)`;
    return `${why}: ${namePods(group)}; the drain asks again until its ${timeout} s are over`;
  });
}

/** `default/a, default/b and 3 more`. Pure. */
export function namePods(pods: readonly { readonly pod: string }[]): string {
  const named = pods.slice(0, mostNamed).map(({ pod }) => pod);
  return pods.length > mostNamed ? `${named.join(', ')} and ${pods.length - mostNamed} more` : named.join(', ');
}
