import { z } from 'zod';
import { type Announce, type ClusterChange, makeChanges } from '#conductor/cluster/cluster-changes.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { addedLabels, allowsNode, decommissionLabel } from '#conductor/cluster/kubernetes/client/node-labels.ts';
import {
  type ClusterNode,
  isCordoned,
  isFinished,
  listPodsOf,
  nodesPath,
  type Pod,
  podName,
  readNode,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { apiPath, mergePatch } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { podReference } from '#conductor/cluster/kubernetes/evict-pods.ts';
import { controllerOf } from '#conductor/cluster/kubernetes/plan-drain.ts';
import type { Round, RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';

interface TakeOptions {
  readonly announce?: Announce | undefined;
  /** Secrets, for a node that may come back: seals what it has had, for `restoreLabels`. */
  readonly secrets?: Secrets;
}

/**
 * One look at a node that is to have no labels but its kubelet's own and `promenade-decomission`: takes the others away,
 * then is done when its pods have settled: none starts, none ends, and no daemon set has yet to take one away.
 * @throws AppError as `Cluster.request`; `not_found` when the cluster has no such node
 */
export async function clearLabels(
  cluster: Cluster,
  name: string,
  signal: AbortSignal,
  options: TakeOptions,
): Promise<Round> {
  const node = await readNode(cluster, name, signal);
  const messages = await takeLabels(cluster, node, signal, options);
  if (messages.length > 0) {
    // its pods have not heard of it
    const taken = messages.map((message) => message.name).join(', ');
    return { state: 'waiting', reason: `labels were taken from node ${name}: ${taken}`, messages };
  }
  const moving = (await listPodsOf(cluster, name, signal)).flatMap((pod) => unsettled(pod, node));
  const [first, ...others] = moving;
  if (first) {
    return {
      state: 'waiting',
      reason: `${moving.length === 1 ? '1 pod has' : `${moving.length} pods have`} not settled: ${first.message}`,
      messages: [{ ...first, summarized: true }, ...others],
    };
  }
  return { state: 'done', messages: [{ message: `Node ${name} has no labels that were added`, error: false }] };
}

/** Takes the labels from the node that were added. @returns a message for each of them */
export async function takeLabels(
  cluster: Cluster,
  node: ClusterNode,
  signal: AbortSignal,
  { announce, secrets }: TakeOptions,
): Promise<RoundMessage[]> {
  const { name, labels = {} } = node.metadata;
  const added = addedLabels(node);
  if (added.length === 0) return [];
  const taken = added.map((label) => ({ label, value: labels?.[label] ?? '' }));
  const describeChange = ({ label, value }: (typeof taken)[number]): string =>
    `Label ${label}=${value} is taken from node ${name}`;
  const changes = taken.map(
    (each): ClusterChange => ({ kind: 'label', name: each.label, value: each.value, message: describeChange(each) }),
  );
  const annotations = secrets && keepTakenLabels(secrets, node, taken);
  const body = { metadata: { labels: Object.fromEntries(added.map((label) => [label, null])), annotations } };
  await makeChanges(announce, changes, () =>
    cluster.request('PATCH', apiPath(nodesPath, name), { body, contentType: mergePatch, signal }),
  );
  return taken.map((each) => ({ message: describeChange(each), error: false, name: each.label, kind: 'Label' }));
}

function unsettled(pod: Pod, node: ClusterNode): RoundMessage[] {
  const why = describeMotion(pod, node);
  return why === undefined ? [] : [{ message: `Pod ${podName(pod)} ${why}`, error: true, ...podReference(pod) }];
}

/** Describes what a pod of the node is still about; `undefined`: nothing, it has settled. Pure. */
export function describeMotion(pod: Pod, node: ClusterNode): string | undefined {
  const { finalizers, deletionTimestamp } = pod.metadata;
  if (deletionTimestamp) {
    return `is ending${finalizers?.length ? `, held by its finalizers ${finalizers.join(', ')}` : ''}`;
  }
  if (pod.status?.phase === 'Pending') return 'is starting';
  if (pod.status?.phase === undefined) return 'does not say whether it runs';
  const isStray = controllerOf(pod)?.kind === 'DaemonSet' && !isFinished(pod) && !allowsNode(pod, node);
  return isStray ? 'needs labels that the node has not, and has yet to be taken away by its daemon set' : undefined;
}

/**
 * Puts back the labels that were cleared from a node, lets its kubelet run, and pods onto it, in one request: the daemon
 * set that stops kubelets would act on its label otherwise. A label that somebody has set since stays as it is.
 * @throws AppError as `Cluster.request`; `not_found` when the cluster has no such node
 */
export async function restoreLabels(
  cluster: Cluster,
  name: string,
  signal: AbortSignal,
  { announce, secrets }: { readonly announce: Announce; readonly secrets: Secrets },
): Promise<Round> {
  const node = await readNode(cluster, name, signal);
  const { labels: now, resourceVersion } = node.metadata;
  const missing = Object.entries(readTakenLabels(secrets, node)).filter(([label]) => now?.[label] === undefined);
  const isStopped = now?.[decommissionLabel] !== undefined;
  const isOut = isStopped || isCordoned(node);
  if (missing.length > 0 || isOut) {
    const changes: ClusterChange[] = [
      ...missing.map(([label, value]): ClusterChange => {
        return { kind: 'label', name: label, value, message: `Label ${label}=${value} is back on node ${name}` };
      }),
      ...(isStopped
        ? [
            {
              kind: 'kubelet' as const,
              name,
              message: `Kubelet of node ${name} may run: systemctl enable --now kubelet`,
            },
          ]
        : []),
      ...(isOut ? [{ kind: 'cordon' as const, name, message: `Node ${name} is uncordoned` }] : []),
    ];
    const labels = { ...Object.fromEntries(missing), [decommissionLabel]: null };
    const metadata = { resourceVersion, labels, annotations: { [takenLabelsKey]: null } };
    const body = { metadata, spec: { unschedulable: null } };
    await makeChanges(announce, changes, () =>
      cluster.request('PATCH', apiPath(nodesPath, name), { body, contentType: mergePatch, signal }),
    );
  }
  return { state: 'done', messages: [{ message: `Node ${name} has its labels, and takes pods`, error: false }] };
}

/**
 * Labels that were taken from a node, kept at the cluster's node itself: they can be put back as long as there is that
 * node, no matter who took them and however it ended. Sealed, since a kubelet may annotate its node, and must not give itself
 * labels in that way.
 */
const takenLabelsKey = 'baton/taken-labels';

const TakenLabels = z.record(z.string(), z.string());

/** Adds to the annotation the labels that are removed now. @returns annotations of the node */
function keepTakenLabels(
  secrets: Secrets,
  node: ClusterNode,
  taken: readonly { readonly label: string; readonly value: string }[],
): Readonly<Record<string, string>> {
  const labels = { ...readTakenLabels(secrets, node) };
  for (const { label, value } of taken) labels[label] = value;
  return { [takenLabelsKey]: secrets.seal(JSON.stringify(labels), placeOf(node)) };
}

/** @throws AppError `invalid_argument` when they were not sealed here, for this node */
function readTakenLabels(secrets: Secrets, node: ClusterNode): Readonly<Record<string, string>> {
  const sealed = node.metadata.annotations?.[takenLabelsKey];
  return sealed === undefined ? {} : TakenLabels.parse(JSON.parse(secrets.open(sealed, placeOf(node))));
}

function placeOf({ metadata: { name, uid } }: ClusterNode): string {
  return `labels taken from Kubernetes node ${name} (${uid})`;
}
