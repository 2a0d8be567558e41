import type { Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import { isCordoned, isReady } from '#conductor/cluster/kubernetes/cordon.ts';
import { isUnknownNode, listPodsOf, type PodOutline, readNode } from '#conductor/cluster/kubernetes/objects.ts';
import { outlineOf } from '#conductor/cluster/kubernetes/select-pods.ts';
import { lookMs } from '#conductor/sites/actions/teardown-plan/looks.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** A node of the cluster with its pods, or why it is known that the cluster has no such node. */
export type SeenNode =
  | {
      readonly isMember: true;
      readonly ready: boolean;
      readonly cordoned: boolean;
      readonly pods: readonly PodOutline[];
    }
  | { readonly isMember: false; readonly why: string };

/**
 * Touches nothing, and keeps little: what is seen of each of a thousand nodes stays until the last of them is read.
 * @throws AppError as `Cluster.request`; `TimeoutError` after `lookMs`
 */
export async function lookAtNode(cluster: Cluster, name: string): Promise<SeenNode> {
  const signal = AbortSignal.timeout(lookMs);
  try {
    const node = await readNode(cluster, name, signal);
    const pods = await listPodsOf(cluster, name, signal);
    return { isMember: true, ready: isReady(node), cordoned: isCordoned(node), pods: pods.map(outlineOf) };
  } catch (error) {
    if (!isUnknownNode(error)) throw error;
    return { isMember: false, why: errorChain(error) };
  }
}
