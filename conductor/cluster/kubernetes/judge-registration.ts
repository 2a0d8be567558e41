import { isReady } from '#conductor/cluster/kubernetes/cordon.ts';
import type { WatchedNode } from '#conductor/cluster/kubernetes/node-watch.ts';

/** What is known of a machine in its cluster from before its deploy. */
export interface EarlierRegistrations {
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
 * Why the cluster's node is not in service since the deploy; `undefined` = it is: registered by the new instance, and
 * Ready. A boot that was reported before the deploy is none of the new instance's, whatever the object's age. Pure.
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
    // without anything from before, the newest of both has to tell
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
