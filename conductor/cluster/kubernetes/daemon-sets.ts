import { apiPath, type Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import type { PodOutline } from '#conductor/cluster/kubernetes/objects.ts';
import { isAbsent } from '#conductor/cluster/kubernetes/refusal.ts';
import { controllerOf } from '#conductor/cluster/kubernetes/select-pods.ts';

/** Which of the pods' daemon sets are still there, asked once for each set. */
export async function findDaemonSets(
  cluster: Cluster,
  pods: readonly PodOutline[],
  signal: AbortSignal,
): Promise<(pod: PodOutline) => boolean> {
  const sets = new Map(pods.flatMap((pod) => daemonSetOf(pod) ?? []).map((set) => [keyOf(set), set]));
  const found = await Promise.all(
    [...sets.values()].map(async (set) => ((await hasDaemonSet(cluster, set, signal)) ? [keyOf(set)] : [])),
  );
  const present = new Set(found.flat());
  return (pod) => {
    const set = daemonSetOf(pod);
    return set !== undefined && present.has(keyOf(set));
  };
}

export interface DaemonSetName {
  readonly namespace: string;
  readonly name: string;
}

function daemonSetOf(pod: PodOutline): DaemonSetName | undefined {
  const owner = controllerOf(pod);
  return owner?.kind === 'DaemonSet' ? { namespace: pod.metadata.namespace, name: owner.name } : undefined;
}

function keyOf({ namespace, name }: DaemonSetName): string {
  return `${namespace}/${name}`;
}

/** Whether the daemon set is in the cluster. @throws AppError as `Cluster.request` */
export async function hasDaemonSet(
  cluster: Cluster,
  { namespace, name }: DaemonSetName,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await cluster.request('GET', apiPath('/apis/apps/v1/namespaces', namespace, 'daemonsets', name), { signal });
    return true;
  } catch (error) {
    if (isAbsent(error, { kind: 'daemonsets', name })) return false;
    throw error;
  }
}
