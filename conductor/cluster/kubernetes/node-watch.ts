import { z } from 'zod';
import { isUnknownNode } from '#conductor/cluster/cluster-faults.ts';
import type { Cluster, WatchChange } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { ClusterNode, isReady, nodesPath, readNode } from '#conductor/cluster/kubernetes/client/objects.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';

/** The part of a node's object that says whether it is in service; a whole one has kilobytes of images. */
export type WatchedNode = Pick<ClusterNode, 'metadata' | 'status'>;

interface Interest {
  /** Milliseconds of `performance.now()`: nobody has asked since, and nobody will. */
  readonly until: number;
  readonly changed: () => void;
}

interface NodeWatch {
  readonly file: string | undefined;
  readonly cluster: Promise<Cluster>;
  readonly nodes: Map<string, WatchedNode>;
  readonly interests: Map<string, Interest>;
  readonly ended: AbortController;
  /** All nodes are known as they are now. */
  isCurrent: boolean;
}

/** Watches of each conductor in this process. */
const watches = new WeakMap<object, NodeWatch>();
const sweepMs = 2_000;

interface NodeQuestion {
  /** The owner of the watch; its identity counts alone. */
  readonly owner: object;
  readonly kubeconfigFile: string | undefined;
  readonly name: string;
  /** The watch forgets the node when it is not read again within so long; milliseconds. */
  readonly againMs: number;
  /** Called back when the node has changed within that time. */
  readonly changed: () => void;
  readonly signal: AbortSignal;
  /** Ends the watch, also for those who wait. */
  readonly stopping: AbortSignal;
}

/**
 * Finds the cluster's node of that name, `undefined` = there is none, from the one watch that all who wait for nodes share:
 * the API server is asked once, however many they are. While the watch has no answer the node is asked for by itself.
 * @throws AppError as `openCluster` and `readNode`
 */
export async function findWatchedNode(question: NodeQuestion): Promise<WatchedNode | undefined> {
  const { owner, kubeconfigFile, name, againMs, changed, signal, stopping } = question;
  const watch = watchOf(owner, kubeconfigFile, stopping);
  watch.interests.set(name, { until: performance.now() + againMs + sweepMs, changed });
  try {
    const cluster = await watch.cluster;
    if (watch.isCurrent) return watch.nodes.get(name);
    return await readNode(cluster, name, signal);
  } catch (error) {
    if (isUnknownNode(error)) return undefined;
    if (watches.get(owner) === watch && !watch.isCurrent) end(owner, watch);
    throw error;
  }
}

/** Forgets a node that nobody waits for any more. */
export function forgetWatchedNode(owner: object, name: string): void {
  const watch = watches.get(owner);
  watch?.interests.delete(name);
  if (watch?.interests.size === 0) end(owner, watch);
}

function watchOf(owner: object, file: string | undefined, stopping: AbortSignal): NodeWatch {
  const known = watches.get(owner);
  if (known?.file === file && known && !known.ended.signal.aborted) return known;
  if (known) end(owner, known);
  const watch: NodeWatch = {
    file,
    cluster: openCluster(file),
    nodes: new Map(),
    interests: new Map(),
    ended: new AbortController(),
    isCurrent: false,
  };
  watches.set(owner, watch);
  const sweep = setInterval(() => {
    for (const [name, { until }] of watch.interests) if (until < performance.now()) watch.interests.delete(name);
    if (watch.interests.size === 0) end(owner, watch);
  }, sweepMs).unref();
  const signal = AbortSignal.any([watch.ended.signal, stopping]);
  signal.addEventListener('abort', () => clearInterval(sweep), { once: true });
  watch.cluster
    .then((cluster) => {
      cluster.watch(
        nodesPath,
        {},
        signal,
        (change) => take(watch, change),
        () => {
          watch.isCurrent = false;
        },
      );
    })
    // requests to the cluster fail with the same error and report it; until then the watch is not current
    .catch(() => undefined);
  return watch;
}

function end(owner: object, watch: NodeWatch): void {
  if (watches.get(owner) === watch) watches.delete(owner);
  watch.ended.abort();
  // a cluster that could not be opened has been reported to those who waited for it
  watch.cluster.then((cluster) => cluster.close()).catch(() => undefined);
}

function take(watch: NodeWatch, change: WatchChange): void {
  if (change.type === 'LISTED') {
    watch.nodes.clear();
    for (const node of z.array(ClusterNode).parse(change.items)) watch.nodes.set(node.metadata.name, outlineOf(node));
    watch.isCurrent = true;
    for (const { changed } of watch.interests.values()) changed();
    return;
  }
  const node = ClusterNode.parse(change.object);
  const { name } = node.metadata;
  if (change.type === 'DELETED') watch.nodes.delete(name);
  else watch.nodes.set(name, outlineOf(node));
  watch.interests.get(name)?.changed();
}

function outlineOf({ metadata, status }: ClusterNode): WatchedNode {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const { systemUUID, machineID, bootID } = status?.nodeInfo ?? {};
  return {
    metadata: { name, uid, resourceVersion, creationTimestamp },
    status: {
      nodeInfo: { systemUUID, machineID, bootID },
      conditions: status?.conditions?.filter(({ type }) => type === 'Ready'),
    },
  };
}

/** Registrations of a machine in its cluster that are known from before its deploy. */
interface EarlierRegistrations {
  /** `metadata.uid` of its node's objects. */
  readonly uids: readonly string[];
  /** Boots that its kubelet has reported. */
  readonly bootIds: readonly string[];
  /** Its deploy began; milliseconds since 1970, by the database's clock. */
  readonly deployedAfter: number;
}

/** Clocks of the API server and of the database differ, and Kubernetes writes whole seconds. */
const clockSkewMs = 60_000;

/**
 * Explains why the cluster's node is not in service since the deploy; `undefined` = it is: registered by the new instance,
 * and Ready. A boot that was reported before the deploy is none of the new instance's, whatever the object's age. Pure.
 */
export function whyNotReady(node: WatchedNode | undefined, earlier: EarlierRegistrations): string | undefined {
  if (!node) return 'it has not joined yet';
  const { uid, creationTimestamp } = node.metadata;
  const bootId = node.status?.nodeInfo?.bootID || undefined;
  if (bootId !== undefined && earlier.bootIds.includes(bootId)) {
    return `what reports as it is the boot ${bootId} of before the deploy`;
  }
  const isNewBoot = bootId !== undefined && earlier.bootIds.length > 0;
  if (!isNewBoot && earlier.uids.includes(uid)) return 'its entry is the one of before the deploy';
  if (earlier.uids.length + earlier.bootIds.length === 0) {
    const since = [creationTimestamp, readyCondition(node)?.lastTransitionTime].map((at) => Date.parse(at ?? ''));
    // without anything from before, the newer of both decides
    if (!since.some((at) => at >= earlier.deployedAfter - clockSkewMs)) return 'its entry is older than the deploy';
  }
  if (isReady(node)) return undefined;
  const { status = 'Unknown', reason, message } = readyCondition(node) ?? {};
  const why = [reason, message].filter(Boolean).join(': ');
  return `it has joined, and is not Ready yet (Ready is ${status}${why === '' ? '' : `, ${why}`})`;
}

function readyCondition({ status }: WatchedNode) {
  return status?.conditions?.find(({ type }) => type === 'Ready');
}
