import type { Announce, ClusterChange } from '#conductor/cluster/cluster-changes.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import { isReady } from '#conductor/cluster/kubernetes/cordon.ts';
import { type EvictOptions, evictPod, named, type Obstacle } from '#conductor/cluster/kubernetes/evict-pod.ts';
import { type Pod, podName } from '#conductor/cluster/kubernetes/objects.ts';
import type { RoundMessage } from '#conductor/cluster/round.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** Requests at the same time: an API server shares itself between its clients. */
const atOnce = 16;

export interface Eviction {
  readonly pod: Pod;
  readonly change: ClusterChange;
}

export interface Evicted extends Eviction {
  readonly obstacle: Obstacle | undefined;
}

/**
 * Evicts pods, each announced before. Of pods that the same budgets are about as many again are asked for as were let go,
 * and none after the first that a budget keeps: under a tight one most would be refused at each look.
 * @returns what was asked for, up to the first that the account may not have, and a message for each that was not
 */
export async function evictPods(
  cluster: Cluster,
  evictions: readonly Eviction[],
  { announce, ...options }: EvictOptions & { readonly announce: Announce | undefined },
): Promise<{ readonly asked: readonly Evicted[]; readonly spared: readonly RoundMessage[] }> {
  const kinds = [...Map.groupBy(evictions, ({ pod }) => kindOf(pod)).values()].map((all) => ({
    left: [...all],
    asked: 0,
    keptWith: undefined as Pod | undefined,
  }));
  const asked: Evicted[] = [];
  const mayGoOn = (): boolean => asked.every(({ obstacle }) => obstacle?.forbidden === undefined);
  const evict = async ({ kind, pod, change }: Eviction & { readonly kind: (typeof kinds)[number] }): Promise<void> => {
    const obstacle = await evictPod(cluster, pod, options);
    kind.asked += 1;
    if (obstacle?.isBudgets) kind.keptWith = pod;
    asked.push({ pod, change, obstacle });
  };
  while (mayGoOn()) {
    const wave = kinds
      .filter(({ keptWith }) => keptWith === undefined)
      .flatMap((kind) => kind.left.splice(0, Math.max(1, kind.asked)).map((each) => ({ ...each, kind })));
    if (wave.length === 0) break;
    await announce?.(wave.map(({ change }) => change));
    await inParallel(wave, evict, { atOnce });
  }
  const spared = kinds.flatMap(({ left, keptWith }) =>
    keptWith ? left.map(({ pod }) => describeSpared(pod, keptWith)) : [],
  );
  return { asked, spared };
}

/** Alike to every budget: it selects by labels, and may count those that are not ready otherwise. */
function kindOf(pod: Pod): string {
  const { namespace, labels } = pod.metadata;
  const sorted = Object.entries(labels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([namespace, sorted, isReady(pod), pod.status?.phase]);
}

function describeSpared(pod: Pod, keptWith: Pod): RoundMessage {
  const message = `Pod ${podName(pod)} waits: the budget of pod ${podName(keptWith)} forbids it, too`;
  return { message, error: true, ...named(pod) };
}
