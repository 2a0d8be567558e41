import { type Budget, type KeptPod, whatIsKept } from '#conductor/cluster/kubernetes/disruption-budgets.ts';
import type { PodOutline } from '#conductor/cluster/kubernetes/objects.ts';
import { type PodFate, podFate } from '#conductor/cluster/kubernetes/select-pods.ts';

/** What a drain would do to the pods of a node now. */
export interface DrainPlan {
  /** That go. */
  readonly evicted: readonly PodOutline[];
  /** Of these, what a budget keeps as things are. */
  readonly kept: readonly KeptPod[];
  /** Of these, what `kubectl drain` takes only when it is told `--force` or `--delete-local-data`. */
  readonly forced: readonly { readonly pod: PodOutline; readonly because: ForcedFor }[];
}

export type ForcedFor = NonNullable<Extract<PodFate, { readonly fate: 'evict' }>['forced']>;

/** As `drainNode` would begin, with what would stand in its way. Pure. */
export function planDrain(
  pods: readonly PodOutline[],
  hasDaemonSet: (pod: PodOutline) => boolean,
  budgets: readonly Budget[],
): DrainPlan {
  const leaving = pods.flatMap((pod) => {
    const fate = podFate(pod, hasDaemonSet);
    return fate.fate === 'evict' ? [{ pod, because: fate.forced }] : [];
  });
  return {
    evicted: leaving.map(({ pod }) => pod),
    kept: whatIsKept(
      leaving.map(({ pod }) => pod),
      budgets,
    ),
    forced: leaving.flatMap(({ pod, because }) => (because === undefined ? [] : [{ pod, because }])),
  };
}
