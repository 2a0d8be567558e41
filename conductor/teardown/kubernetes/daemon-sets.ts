import { apiPath, type Cluster } from '#conductor/teardown/kubernetes/cluster.ts';
import type { Pod } from '#conductor/teardown/kubernetes/objects.ts';
import { controllerOf } from '#conductor/teardown/kubernetes/select-pods.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Which of the pods' daemon sets are still there, asked once for each set. */
export async function findDaemonSets(
  cluster: Cluster,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<(pod: Pod) => boolean> {
  const paths = new Set(pods.map(daemonSetPath).filter((path) => path !== undefined));
  const found = await Promise.all(
    [...paths].map(async (path) => ((await isThere(cluster, path, signal)) ? [path] : [])),
  );
  const present = new Set(found.flat());
  return (pod) => present.has(daemonSetPath(pod) ?? '');
}

function daemonSetPath(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  if (owner?.kind !== 'DaemonSet') return undefined;
  return apiPath('/apis/apps/v1/namespaces', pod.metadata.namespace, 'daemonsets', owner.name);
}

async function isThere(cluster: Cluster, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    await cluster.request('GET', path, { signal });
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false;
    throw error;
  }
}
