import type { Announce } from '#conductor/cluster/cluster-changes.ts';
import { takeLabels } from '#conductor/cluster/kubernetes/clear-labels.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import { cordon } from '#conductor/cluster/kubernetes/cordon.ts';
import { readNode } from '#conductor/cluster/kubernetes/objects.ts';
import { findNode, removeFromCluster } from '#conductor/cluster/kubernetes/remove-from-cluster.ts';
import type { Round, RoundMessage } from '#conductor/cluster/round.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface LeaveOptions {
  /** An earlier look has deleted it, or was about to: to others a node that is not there is an error. */
  readonly mayBeGone: boolean;
  readonly announce?: Announce;
}

/**
 * One look at a node that was decommissioned a while ago and is to leave the cluster: as `removeFromCluster`, but what
 * has come back since is taken away again first, and what is still in the way is waited for. While a machine is wiped for
 * hours, operators such as node-feature-discovery put their labels back, and somebody may uncordon the node.
 * @throws AppError as `Cluster.request`; `not_found` when the cluster has no such node
 */
export async function leaveCluster(
  cluster: Cluster,
  name: string,
  { mayBeGone, announce }: LeaveOptions,
  signal: AbortSignal,
): Promise<Round> {
  const node = await (mayBeGone ? findNode : readNode)(cluster, name, signal);
  if (node && !node.metadata.deletionTimestamp) {
    await cordon(cluster, node, signal, announce);
    await takeLabels(cluster, node, signal, { announce });
  }
  try {
    return await removeFromCluster(cluster, name, signal, announce);
  } catch (error) {
    if (!(error instanceof AppError) || error.details['refusal'] !== true) throw error;
    const messages = error.details['messages'] as readonly RoundMessage[];
    return { state: 'waiting', reason: error.message, messages };
  }
}
