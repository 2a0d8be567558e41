import { type Announce, makeChanges } from '#conductor/cluster/cluster-changes.ts';
import { isUnknownNode } from '#conductor/cluster/cluster-faults.ts';
import { takeLabels } from '#conductor/cluster/kubernetes/clear-labels.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { addedLabels, decommissionLabel, decommissionValue } from '#conductor/cluster/kubernetes/client/node-labels.ts';
import {
  type ClusterNode,
  cordon,
  isCordoned,
  listPodsOf,
  nodesPath,
  type Pod,
  podName,
  readNode,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { isAbsent } from '#conductor/cluster/kubernetes/client/refusal.ts';
import { apiPath } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { findDaemonSets } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { podReference } from '#conductor/cluster/kubernetes/evict-pods.ts';
import { controllerOf, podFate } from '#conductor/cluster/kubernetes/plan-drain.ts';
import type { Round, RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * One look at a node that is to leave the cluster: deletes it when it is cordoned, drained, and has no added labels but
 * `promenade-decomission: enabled`. A node that is gone is done.
 * @throws AppError as `Cluster.request`; `conflict` with `details.refusal`, which is not retryable, with everything that
 * stands in the way as `details.messages`
 */
export async function removeFromCluster(
  cluster: Cluster,
  name: string,
  signal: AbortSignal,
  announce?: Announce,
): Promise<Round> {
  const node = await findNode(cluster, name, signal);
  if (!node) return { state: 'done', messages: [{ message: `Node ${name} is not in the cluster`, error: false }] };
  const { uid, resourceVersion, deletionTimestamp, finalizers } = node.metadata;
  if (!deletionTimestamp) {
    const obstacles = await whatStandsInTheWay(cluster, node, signal);
    if (obstacles.length > 0) {
      throw new AppError(
        'conflict',
        `node ${name} can't be removed from the cluster: ${obstacles.map(({ message }) => message).join('; ')}`,
        { details: { messages: obstacles, refusal: true } },
      );
    }
    // of the node that was looked at: one that was uncordoned since, or has joined again, is looked at again
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid, resourceVersion } };
    const message = `Node ${name} is removed from the cluster`;
    await makeChanges(announce, [{ kind: 'node', name, message }], () =>
      cluster.request('DELETE', apiPath(nodesPath, name), { body, signal }).catch((error: unknown) => {
        if (!isAbsent(error, { kind: 'nodes', name })) throw error;
      }),
    );
  }
  const left = await findNode(cluster, name, signal);
  if (left?.metadata.uid !== uid) {
    return { state: 'done', messages: [{ message: `Node ${name} is removed from the cluster`, error: false }] };
  }
  const held = finalizers?.length ? `, held by its finalizers ${finalizers.join(', ')}` : '';
  const message = `Node ${name} is being deleted${held}`;
  return {
    state: 'waiting',
    reason: message,
    messages: [{ message, error: true, name, kind: 'Node', summarized: true }],
  };
}

/** @returns `undefined`: the cluster says that it has no such node */
export async function findNode(cluster: Cluster, name: string, signal: AbortSignal): Promise<ClusterNode | undefined> {
  try {
    return await readNode(cluster, name, signal);
  } catch (error) {
    if (isUnknownNode(error)) return undefined;
    throw error;
  }
}

/**
 * Recognizes pods of daemon sets: on a node that is off they have ended as failed; their daemon set had them there all
 * the same.
 */
function isDaemon(pod: Pod, hasDaemonSet: (pod: Pod) => boolean): boolean {
  return controllerOf(pod)?.kind === 'DaemonSet' && hasDaemonSet(pod);
}

async function whatStandsInTheWay(cluster: Cluster, node: ClusterNode, signal: AbortSignal): Promise<RoundMessage[]> {
  const { name, labels } = node.metadata;
  const pods = await listPodsOf(cluster, name, signal);
  const hasDaemonSet = await findDaemonSets(cluster, pods, signal);
  const left = pods.filter((pod) => podFate(pod, hasDaemonSet).fate === 'evict' && !isDaemon(pod, hasDaemonSet));
  const mark = labels?.[decommissionLabel] ?? decommissionValue;
  const wrong = [...addedLabels(node), ...(mark === decommissionValue ? [] : [decommissionLabel])];
  return [
    ...(isCordoned(node) ? [] : [{ message: `Node ${name} is not cordoned`, error: true, name, kind: 'Node' }]),
    ...left.map((pod) => ({ message: `Pod ${podName(pod)} is on it`, error: true, ...podReference(pod) })),
    ...wrong.map((label) => ({
      message: `Label ${label}=${labels?.[label] ?? ''} is on it`,
      error: true,
      name: label,
      kind: 'Label',
    })),
  ];
}

interface LeaveOptions {
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
