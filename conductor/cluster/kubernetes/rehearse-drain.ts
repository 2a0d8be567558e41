import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import {
  ClusterNode,
  isCordoned,
  listAll,
  listPodsOf,
  nodesPath,
  type PodOutline,
  podName,
  readNode,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { findDaemonSets } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { type KeptPod, listBudgets } from '#conductor/cluster/kubernetes/disruption-budgets.ts';
import { findLastReady, findMissingNodeRights } from '#conductor/cluster/kubernetes/guard-changes.ts';
import { planDrain, podFate } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { rightsError } from '#conductor/cluster/kubernetes/rights.ts';
import { type RoundMessage, roundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';

const lookMs = 30_000;

/**
 * Describes what a drain of the node would do now, in its words; nothing is touched (`kubectl drain --dry-run`).
 * Obstacles in its way are errors among them; the last message sums up.
 * @throws AppError as `Cluster.request`; `not_found` when the cluster has no such node
 */
export async function rehearseDrain(
  cluster: Cluster,
  {
    node: name,
    force,
    signal: hungUp,
  }: { readonly node: string; readonly force: boolean; readonly signal: AbortSignal },
): Promise<readonly RoundMessage[]> {
  const signal = AbortSignal.any([hungUp, AbortSignal.timeout(lookMs)]);
  const node = await readNode(cluster, name, signal);
  const refusals = await findRefusals(cluster, { name, force }, signal);
  const pods = await listPodsOf(cluster, name, signal);
  const hasDaemonSet = await findDaemonSets(cluster, pods, signal);
  const { evicted, kept, forced } = planDrain(pods, hasDaemonSet, await listBudgets(cluster, signal));
  const costs = new Map(forced.map(({ pod, because }) => [podName(pod), because]));
  const left = pods.flatMap((pod) => {
    const fate = podFate(pod, hasDaemonSet);
    return fate.fate === 'ignore' ? [{ pod, because: fate.because }] : [];
  });
  const waits = kept.length === 0 ? '' : `, of which ${kept.length} wait for their budgets now`;
  const count = evicted.length === 1 ? '1 pod' : `${evicted.length} pods`;
  return [
    ...refusals.map((why) => ({ message: `The drain would be refused: ${why}`, error: true })),
    isCordoned(node)
      ? roundMessage(newRemark('cordoned-already', { node: name }))
      : { message: `Node ${name} would be cordoned`, error: false },
    ...evicted.map((pod) => ofPod(pod, describeEviction(podName(pod), costs.get(podName(pod))))),
    ...kept.map((each) => ({ ...ofPod(each.pod, describeKept(each)), error: true })),
    ...left.map(({ pod, because }) =>
      ofPod(pod, describeRemark(newRemark('pod-left-alone', { pod: podName(pod), because }))),
    ),
    { message: `Node ${name}: a drain would evict ${count}${waits}; nothing was touched`, error: false },
  ];
}

async function findRefusals(
  cluster: Cluster,
  { name, force }: { readonly name: string; readonly force: boolean },
  signal: AbortSignal,
): Promise<string[]> {
  const [nodes, missing] = await Promise.all([
    force ? [] : listAll(cluster, nodesPath, ClusterNode, { what: 'nodes', signal }),
    findMissingNodeRights(cluster, { drained: [name], deletes: false }, signal),
  ]);
  const last = findLastReady(nodes, { names: [name], staysOut: false }).get(name);
  return [
    ...(last === undefined ? [] : [`${last}; force takes it out all the same`]),
    ...(missing.length === 0 ? [] : [rightsError(`change node ${name}`, missing).message]),
  ];
}

function ofPod(pod: PodOutline, message: string): RoundMessage {
  return { message, error: false, name: podName(pod), kind: 'Pod' };
}

function describeEviction(pod: string, cost: 'unmanaged' | 'local data' | undefined): string {
  if (cost === 'unmanaged') return `Pod ${pod} would go for good: no controller replaces it`;
  return `Pod ${pod} would be evicted${cost === 'local data' ? ', with its local data (emptyDir)' : ''}`;
}

function describeKept({ pod, forbidden }: KeptPod): string {
  const budgets = forbidden.because === 'several budgets' ? forbidden.budgets : [forbidden.budget];
  const names = budgets.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join(' and ');
  if (forbidden.because === 'several budgets')
    return `Pod ${podName(pod)} could not go: it has several budgets, ${names}`;
  const { currentHealthy, desiredHealthy, disruptionsAllowed } = forbidden.budget.status ?? {};
  const counts = `${currentHealthy ?? 'unknown'} healthy, ${desiredHealthy ?? 'unknown'} needed`;
  return `Pod ${podName(pod)} would wait: PodDisruptionBudget ${names} allows ${disruptionsAllowed ?? 0} at a time (${counts})`;
}
