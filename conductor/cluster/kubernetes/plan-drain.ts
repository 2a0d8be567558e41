import { isFinished, type PodOutline, type PodOwner } from '#conductor/cluster/kubernetes/client/objects.ts';
import { type Budget, type KeptPod, whatIsKept } from '#conductor/cluster/kubernetes/disruption-budgets.ts';

/** Effects that a drain would have on the pods of a node now. */
export interface DrainPlan {
  /** Pods that go. */
  readonly evicted: readonly PodOutline[];
  /** Pods, among these, that a budget keeps as things are. */
  readonly kept: readonly KeptPod[];
  /** Pods, among these, that `kubectl drain` takes only with `--force` or `--delete-local-data`. */
  readonly forced: readonly { readonly pod: PodOutline; readonly because: ForcedFor }[];
}

type ForcedFor = NonNullable<Extract<PodFate, { readonly fate: 'evict' }>['forced']>;

/** Plans a drain as `drainNode` would begin it, with what would stand in its way. Pure. */
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

export type PodFate =
  /** It goes: evicted. `forced` says what a cautious `kubectl drain` would have refused for. */
  | { readonly fate: 'evict'; readonly forced: 'unmanaged' | 'local data' | undefined }
  /** It stays: its daemon set would have it back at once, or it is the kubelet's own. */
  | { readonly fate: 'ignore'; readonly because: 'daemon set' | 'mirror pod' };

const mirror = 'kubernetes.io/config.mirror';

/**
 * Decides a pod's fate as `kubectl drain --force --ignore-daemonsets --delete-local-data` does (seed 001's command).
 * Pure.
 * @param hasDaemonSet whether the daemon set that controls the pod is still there: pods whose set is gone are nobody's
 */
export function podFate(pod: PodOutline, hasDaemonSet: (pod: PodOutline) => boolean): PodFate {
  if (pod.metadata.annotations?.[mirror] !== undefined) return { fate: 'ignore', because: 'mirror pod' };
  if (isFinished(pod)) return { fate: 'evict', forced: undefined };
  const owner = controllerOf(pod);
  if (owner?.kind === 'DaemonSet' && hasDaemonSet(pod)) return { fate: 'ignore', because: 'daemon set' };
  if (!owner || owner.kind === 'DaemonSet') return { fate: 'evict', forced: 'unmanaged' };
  return { fate: 'evict', forced: hasLocalData(pod) ? 'local data' : undefined };
}

function hasLocalData({ spec }: PodOutline): boolean {
  return spec.volumes?.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null) === true;
}

/** Finds the owner that creates the pod again when it is deleted. */
export function controllerOf({ metadata }: Pick<PodOutline, 'metadata'>): PodOwner | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/**
 * Returns the same pod for anyone who decides about it later, without the rest: those of a thousand nodes do not fit in
 * memory.
 */
export function outlineOf(pod: PodOutline): PodOutline {
  const { name, namespace, labels, annotations, deletionTimestamp } = pod.metadata;
  const owner = controllerOf(pod);
  const mark = annotations?.[mirror];
  return {
    metadata: {
      name,
      namespace,
      labels,
      deletionTimestamp,
      annotations: mark === undefined ? undefined : { [mirror]: mark },
      ownerReferences: owner && [
        { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, controller: true },
      ],
    },
    spec: { volumes: hasLocalData(pod) ? [{ emptyDir: {} }] : undefined },
    status: {
      phase: pod.status?.phase,
      conditions: pod.status?.conditions
        ?.filter(({ type }) => type === 'Ready')
        .map(({ type, status }) => ({ type, status })),
    },
  };
}
