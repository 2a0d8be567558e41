import type { Announce, ClusterChange } from '#conductor/cluster/cluster-changes.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import {
  type ClusterNode,
  cordon,
  isFinished,
  listPodsOf,
  type Pod,
  podName,
  readNode,
  readReady,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { findDaemonSets } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { type Evicted, evictionVersion, evictPods, podReference } from '#conductor/cluster/kubernetes/evict-pods.ts';
import { type PodFate, podFate } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { evictRight, findMissingRights, rightsError } from '#conductor/cluster/kubernetes/rights.ts';
import { type Round, type RoundMessage, roundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { AppError } from '#shared/errors/app-error.ts';

export interface DrainOptions {
  /** Seconds that each pod gets to end by itself; 0 = none. */
  readonly gracePeriodSeconds: number;
  readonly announce?: Announce;
}

/** The warning that `kubectl drain --grace-period 0` gives. */
const deletedAtOnce = 'With a grace period of 0 pods are deleted at once: their containers may still run';

/**
 * One look at a node that is to be empty: cordons it, evicts what may go, and is done when nothing but pods of daemon
 * sets and mirror pods is left. As `kubectl drain --force --ignore-daemonsets --delete-local-data` (seed 001).
 * @throws AppError as `Cluster.request`; `not_found` when the cluster has no such node
 */
export async function drainNode(
  cluster: Cluster,
  name: string,
  { gracePeriodSeconds, announce }: DrainOptions,
  signal: AbortSignal,
): Promise<Round> {
  const node = await readNode(cluster, name, signal);
  const messages: RoundMessage[] = [];
  const isNew = await cordon(cluster, node, signal, announce);
  messages.push(
    isNew
      ? { message: `Node ${name} is cordoned`, error: false }
      : roundMessage(newRemark('cordoned-already', { node: name })),
  );
  if (gracePeriodSeconds === 0) messages.push({ message: deletedAtOnce, error: false });
  const fates = await findFates(cluster, name, signal);
  const leaving = fates.filter((each) => each.fate === 'evict');
  messages.push(...fates.flatMap(describeLeftAlone));
  if (leaving.length === 0) {
    return { state: 'done', messages: [...messages, { message: `Node ${name} is drained`, error: false }] };
  }
  const toEvict = leaving.filter(({ pod }) => !isGoing(pod, gracePeriodSeconds));
  const version = toEvict.length === 0 ? '' : await evictionVersion(cluster, signal);
  const evictions = toEvict.map((each) => ({ pod: each.pod, change: evictionOf(each) }));
  const { asked, spared } = await evictPods(cluster, evictions, { version, gracePeriodSeconds, signal, announce });
  const blocked = [...asked.flatMap(({ obstacle }) => obstacle?.message ?? []), ...spared];
  const unsettled = asked.flatMap(({ change, obstacle }) =>
    obstacle ? [{ change, isRefused: obstacle.isRefused }] : [],
  );
  const ending = leaving.map(({ pod }) => pod).filter(({ metadata }) => metadata.deletionTimestamp);
  const [first, ...others] = [...blocked, ...ending.map((pod) => endingMessage(pod, node))];
  if (first) messages.push({ ...first, summarized: true }, ...others);
  const count = `${leaving.length} ${leaving.length === 1 ? 'pod is' : 'pods are'} still on node ${name}`;
  const reason = `${count}: ${first?.message ?? 'asked to end just now'}`;
  const failure = await findRefusal(cluster, asked, signal);
  return { state: 'waiting', reason, messages, unsettled, ...(failure ? { failure } : {}) };
}

type PodWithFate = { readonly pod: Pod } & PodFate;

async function findFates(cluster: Cluster, name: string, signal: AbortSignal): Promise<PodWithFate[]> {
  const pods = await listPodsOf(cluster, name, signal);
  const hasDaemonSet = await findDaemonSets(cluster, pods, signal);
  return pods.map((pod) => ({ pod, ...podFate(pod, hasDaemonSet) }));
}

/** Pods that a drain of the node evicts. @throws AppError as `Cluster.request` */
export async function findLeaving(cluster: Cluster, name: string, signal: AbortSignal): Promise<Pod[]> {
  return (await findFates(cluster, name, signal)).flatMap(({ pod, fate }) => (fate === 'evict' ? [pod] : []));
}

/**
 * Finds the refusal of an eviction. An admission webhook may forbid it for now; a right that is missing forbids it for good.
 */
async function findRefusal(
  cluster: Cluster,
  asked: readonly Evicted[],
  signal: AbortSignal,
): Promise<AppError | undefined> {
  const [first] = asked.flatMap(({ obstacle }) => obstacle?.forbidden ?? []);
  if (!first) return undefined;
  const namespaces = new Set(
    asked.flatMap(({ obstacle, pod }) => (obstacle?.forbidden ? [pod.metadata.namespace] : [])),
  );
  const rights = [...namespaces].map((namespace) => ({ ...evictRight, namespace }));
  const missing = await findMissingRights(cluster, rights, signal);
  return missing.length === 0 ? undefined : rightsError('evict pods', missing, first);
}

/** Checks whether the pod was asked to end within the requested time; one that was given longer is asked again. */
function isGoing({ metadata }: Pod, gracePeriodSeconds: number): boolean {
  return Boolean(metadata.deletionTimestamp) && (metadata.deletionGracePeriodSeconds ?? 0) <= gracePeriodSeconds;
}

function describeLeftAlone({ pod, ...fate }: PodWithFate): RoundMessage[] {
  if (fate.fate !== 'ignore') return [];
  return [roundMessage(newRemark('pod-left-alone', { pod: podName(pod), because: fate.because }), podReference(pod))];
}

/** Describes an eviction, with its cost beyond a restart elsewhere. */
function evictionOf({ pod, ...fate }: PodWithFate): ClusterChange {
  const name = podName(pod);
  const forced = fate.fate === 'evict' ? fate.forced : undefined;
  if (forced === undefined) return { kind: 'pod', name, message: `Pod ${name} is evicted` };
  const remark = newRemark(forced === 'local data' ? 'pod-loses-data' : 'pod-lost', { pod: name });
  return { kind: 'pod', name, message: describeRemark(remark), remark };
}

function endingMessage(pod: Pod, node: ClusterNode): RoundMessage {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = pod.metadata;
  const reasons = [
    ...(finalizers?.length ? [`held by its finalizers ${finalizers.join(', ')}`] : []),
    ...(readReady(node) !== 'unknown' || isFinished(pod)
      ? []
      : [`the kubelet of node ${node.metadata.name}, which would confirm its end, does not report`]),
  ];
  const why = reasons.length > 0 ? `: ${reasons.join('; ')}` : '';
  return {
    message: `Pod ${podName(pod)} is ending, due ${deletionTimestamp ?? ''} with ${deletionGracePeriodSeconds ?? 0} s of grace${why}`,
    error: true,
    ...podReference(pod),
  };
}
