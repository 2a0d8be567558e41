import type { Announce } from '#conductor/teardown/deeds.ts';
import { apiPath, type Cluster, mergePatch } from '#conductor/teardown/kubernetes/cluster.ts';
import { named } from '#conductor/teardown/kubernetes/evict-pod.ts';
import { addedLabels, allowsNode } from '#conductor/teardown/kubernetes/node-labels.ts';
import {
  type ClusterNode,
  isFinished,
  listPodsOf,
  nodesPath,
  type Pod,
  podName,
  readNode,
} from '#conductor/teardown/kubernetes/objects.ts';
import { controllerOf } from '#conductor/teardown/kubernetes/select-pods.ts';
import type { Round, RoundMessage } from '#conductor/teardown/round.ts';

/**
 * One look at a node that is to have no labels but its kubelet's own and `promenade-decomission`: takes the others away,
 * then is done when its pods have settled: none starts, none ends, and no daemon set has yet to take one away.
 * @throws AppError as `Cluster.request`; `not_found` when the cluster has no such node
 */
export async function clearLabels(
  cluster: Cluster,
  name: string,
  signal: AbortSignal,
  announce?: Announce,
): Promise<Round> {
  const node = await readNode(cluster, name, signal);
  const added = addedLabels(node);
  const messages: RoundMessage[] = added.map((label) => ({
    message: `Label ${label}=${node.metadata.labels?.[label] ?? ''} is taken from node ${name}`,
    error: false,
    name: label,
    kind: 'Label',
  }));
  if (added.length > 0) {
    const labels = Object.fromEntries(added.map((label) => [label, null]));
    const path = apiPath(nodesPath, name);
    await announce?.(
      messages.map(({ message, name: label = '' }) => ({
        kind: 'label',
        name: label,
        value: node.metadata.labels?.[label],
        message,
      })),
    );
    await cluster.request('PATCH', path, { body: { metadata: { labels } }, contentType: mergePatch, signal });
    // its pods have not heard of it
    return { state: 'waiting', reason: `labels were taken from node ${name}: ${added.join(', ')}`, messages };
  }
  const moving = (await listPodsOf(cluster, name, signal)).flatMap((pod) => unsettled(pod, node));
  const [first] = moving;
  if (first) {
    return { state: 'waiting', reason: `${moving.length} pods have not settled: ${first.message}`, messages: moving };
  }
  return { state: 'done', messages: [{ message: `Node ${name} has no labels that were added`, error: false }] };
}

function unsettled(pod: Pod, node: ClusterNode): RoundMessage[] {
  const why = motion(pod, node);
  return why === undefined ? [] : [{ message: `Pod ${podName(pod)} ${why}`, error: true, ...named(pod) }];
}

function motion(pod: Pod, node: ClusterNode): string | undefined {
  const { finalizers, deletionTimestamp } = pod.metadata;
  if (deletionTimestamp) {
    return `is ending${finalizers?.length ? `, held by its finalizers ${finalizers.join(', ')}` : ''}`;
  }
  if (pod.status?.phase === 'Pending') return 'is starting';
  const isStray = controllerOf(pod)?.kind === 'DaemonSet' && !isFinished(pod) && !allowsNode(pod, node);
  return isStray ? 'needs labels that the node has not, and has yet to be taken away by its daemon set' : undefined;
}
