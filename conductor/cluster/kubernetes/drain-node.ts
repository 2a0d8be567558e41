import type { Announce, ClusterChange } from '#conductor/cluster/cluster-changes.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import { cordon, isReady } from '#conductor/cluster/kubernetes/cordon.ts';
import { findDaemonSets } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { evictionVersion, evictPod, named } from '#conductor/cluster/kubernetes/evict-pod.ts';
import {
  type ClusterNode,
  isFinished,
  listPodsOf,
  type Pod,
  podName,
  readNode,
} from '#conductor/cluster/kubernetes/objects.ts';
import { type PodFate, podFate } from '#conductor/cluster/kubernetes/select-pods.ts';
import { type Round, type RoundMessage, roundMessage } from '#conductor/cluster/round.ts';
import { describeRemark, newRemark } from '#conductor/model/remark-words.ts';
import { inParallel } from '#shared/in-parallel.ts';

export interface DrainOptions {
  /** Seconds that each pod gets to end by itself; 0 = none. */
  readonly gracePeriodSeconds: number;
  readonly announce?: Announce;
}

/** Requests at the same time: an API server shares itself between its clients. */
const atOnce = 16;

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
  const pods = await listPodsOf(cluster, name, signal);
  const hasDaemonSet = await findDaemonSets(cluster, pods, signal);
  const fates = pods.map((pod) => ({ pod, ...podFate(pod, hasDaemonSet) }));
  const leaving = fates.filter((each) => each.fate === 'evict');
  messages.push(...fates.flatMap(describeLeftAlone));
  if (leaving.length === 0) {
    return { state: 'done', messages: [...messages, { message: `Node ${name} is drained`, error: false }] };
  }
  const toEvict = leaving.filter(({ pod }) => !isGoing(pod, gracePeriodSeconds));
  await announce?.(toEvict.map(evictionOf));
  const version = toEvict.length === 0 ? '' : await evictionVersion(cluster, signal);
  const evict = async (each: (typeof toEvict)[number]) => ({
    change: evictionOf(each),
    obstacle: await evictPod(cluster, each.pod, { version, gracePeriodSeconds, signal }),
  });
  const asked = await inParallel(toEvict, evict, { atOnce });
  const blocked = asked.flatMap(({ obstacle }) => obstacle?.message ?? []);
  const unsettled = asked.flatMap(({ change, obstacle }) =>
    obstacle ? [{ change, isRefused: obstacle.isRefused }] : [],
  );
  const ending = leaving.map(({ pod }) => pod).filter(({ metadata }) => metadata.deletionTimestamp);
  const [first, ...others] = [...blocked, ...ending.map((pod) => endingMessage(pod, node))];
  if (first) messages.push({ ...first, summarized: true }, ...others);
  const count = `${leaving.length} ${leaving.length === 1 ? 'pod is' : 'pods are'} still on node ${name}`;
  const reason = `${count}: ${first?.message ?? 'asked to end just now'}`;
  return { state: 'waiting', reason, messages, unsettled };
}

/** Told to end, and within the time that is wanted: one that was given longer is told again. */
function isGoing({ metadata }: Pod, gracePeriodSeconds: number): boolean {
  return Boolean(metadata.deletionTimestamp) && (metadata.deletionGracePeriodSeconds ?? 0) <= gracePeriodSeconds;
}

function describeLeftAlone({ pod, ...fate }: { readonly pod: Pod } & PodFate): RoundMessage[] {
  if (fate.fate !== 'ignore') return [];
  return [roundMessage(newRemark('pod-left-alone', { pod: podName(pod), because: fate.because }), named(pod))];
}

/** With what it costs beyond a restart elsewhere. */
function evictionOf({ pod, ...fate }: { readonly pod: Pod } & PodFate): ClusterChange {
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
    ...(isReady(node) || isFinished(pod)
      ? []
      : [`the kubelet of node ${node.metadata.name}, which would confirm its end, does not report`]),
  ];
  const why = reasons.length > 0 ? `: ${reasons.join('; ')}` : '';
  return {
    message: `Pod ${podName(pod)} is ending, due ${deletionTimestamp ?? ''} with ${deletionGracePeriodSeconds ?? 0} s of grace${why}`,
    error: true,
    ...named(pod),
  };
}
