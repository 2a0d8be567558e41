import { isFinished, type Pod } from '#conductor/teardown/kubernetes/objects.ts';

/** What a drain does with a pod. */
export type PodFate =
  /** It goes: evicted. `forced` tells what a cautious `kubectl drain` would have refused for. */
  | { readonly fate: 'evict'; readonly forced: 'unmanaged' | 'local data' | undefined }
  /** It stays: its daemon set would have it back at once, or it is the kubelet's own. */
  | { readonly fate: 'ignore'; readonly because: 'daemon set' | 'mirror pod' };

const mirror = 'kubernetes.io/config.mirror';

/**
 * As `kubectl drain --force --ignore-daemonsets --delete-local-data` decides (seed 001's command). Pure.
 * @param hasDaemonSet whether the daemon set that controls the pod is still there: pods whose set is gone are nobody's
 */
export function podFate(pod: Pod, hasDaemonSet: (pod: Pod) => boolean): PodFate {
  if (pod.metadata.annotations?.[mirror] !== undefined) return { fate: 'ignore', because: 'mirror pod' };
  if (isFinished(pod)) return { fate: 'evict', forced: undefined };
  const owner = controllerOf(pod);
  if (owner?.kind === 'DaemonSet' && hasDaemonSet(pod)) return { fate: 'ignore', because: 'daemon set' };
  if (!owner || owner.kind === 'DaemonSet') return { fate: 'evict', forced: 'unmanaged' };
  const hasLocalData = pod.spec.volumes?.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null) === true;
  return { fate: 'evict', forced: hasLocalData ? 'local data' : undefined };
}

type Owner = NonNullable<Pod['metadata']['ownerReferences']>[number];

/** Who makes the pod anew when it goes. */
export function controllerOf({ metadata }: Pod): Owner | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}
