import type { Announce } from '#conductor/cluster/cluster-changes.ts';
import { asStepFailure } from '#conductor/cluster/cluster-faults.ts';
import type { Journal } from '#conductor/cluster/journal.ts';
import { clearLabels, restoreLabels } from '#conductor/cluster/kubernetes/clear-labels.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import { applyDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { type Guard, guardChanges } from '#conductor/cluster/kubernetes/guard-changes.ts';
import { nodesPath, podsOf, podsPath, readNode } from '#conductor/cluster/kubernetes/objects.ts';
import { openCluster } from '#conductor/cluster/kubernetes/open-cluster.ts';
import { removeFromCluster } from '#conductor/cluster/kubernetes/remove-from-cluster.ts';
import { shutdownKubelet } from '#conductor/cluster/kubernetes/shutdown-kubelet.ts';
import { repeatRounds } from '#conductor/cluster/repeat-rounds.ts';
import type { Round, RoundMessage } from '#conductor/cluster/round.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface NodeStep {
  /** The node's name in the cluster, which is its host name. */
  readonly node: string;
  /** Seconds for all of it. */
  readonly timeout: number;
  /** Fires when nobody waits for it any more. */
  readonly signal: AbortSignal;
  readonly journal?: Journal | undefined;
}

/** Work with the cluster of a kubeconfig file. */
export type ClusterWork<Step extends NodeStep> = (cluster: Cluster, step: Step) => Promise<readonly RoundMessage[]>;

/**
 * One operation of seed 001, from its first round until it is done.
 * @param kubeconfigFile `undefined`: none is set
 * @param reason the seed's, for every failure that has none of its own: `DrainNodeError`
 * @throws AppError `not_found` (the cluster has no such node), `conflict` and `invalid_argument` (of the step itself),
 * `unavailable` (stopped in the middle); else `command_failed` with `details.reason` and `details.messages`
 */
export async function runNodeStep<Step extends NodeStep>(
  kubeconfigFile: string | undefined,
  reason: string,
  work: ClusterWork<Step>,
  step: Step,
): Promise<readonly RoundMessage[]> {
  try {
    const cluster = await openCluster(kubeconfigFile);
    try {
      return await work(cluster, step);
    } finally {
      await cluster.close();
    }
  } catch (error) {
    throw asStepFailure(error, `teardown of ${step.node}`, reason);
  }
}

const podRetryMs = 5_000;
const nodeRetryMs = 2_000;

/** `force`: though it is the last Ready node of its cluster, or of a role. */
type Guarded = Pick<Guard, 'force' | 'require'>;

export interface DrainStep extends NodeStep, Guarded {
  /** Seconds, below the timeout. */
  readonly gracePeriod: number;
}

/** @throws AppError `invalid_argument` unless the grace period is below the timeout */
export function checkDrainTimes({ timeout, gracePeriod }: Pick<DrainStep, 'timeout' | 'gracePeriod'>): void {
  if (gracePeriod < timeout) return;
  throw new AppError(
    'invalid_argument',
    `grace-period: ${gracePeriod} s must be less than the timeout, which is ${timeout} s: pods that take all of it ` +
      'could not be waited for',
  );
}

export const drainStep: ClusterWork<DrainStep> = (cluster, { node, force, require, gracePeriod, ...step }) => {
  const guarded = guardOnce(cluster, { node, force, require, evicts: true, deletes: false });
  const round = (signal: AbortSignal, announce: Announce): Promise<Round> =>
    drainNode(cluster, node, { gracePeriodSeconds: gracePeriod, announce: guarded(signal, announce) }, signal);
  return repeatRounds(round, {
    what: `drain of node ${node}`,
    ...limits(step, podRetryMs),
    watch: watchPods(cluster, node),
  });
};

export interface LabelStep extends NodeStep {
  readonly secrets: Secrets;
}

export const clearLabelsStep: ClusterWork<LabelStep & Guarded> = (
  cluster,
  { node, force, require, secrets, ...step },
) => {
  const guarded = guardOnce(cluster, { node, force, require, evicts: false, deletes: false });
  const round = (signal: AbortSignal, announce: Announce): Promise<Round> =>
    clearLabels(cluster, node, signal, { announce: guarded(signal, announce), secrets });
  return repeatRounds(round, {
    what: `clearing of the labels of node ${node}`,
    ...limits(step, nodeRetryMs),
    watch: watchPods(cluster, node),
  });
};

export const restoreLabelsStep: ClusterWork<LabelStep> = (cluster, { node, secrets, ...step }) =>
  repeatRounds((signal, announce) => restoreLabels(cluster, node, signal, { announce, secrets }), {
    what: `return of the labels of node ${node}`,
    ...limits(step, nodeRetryMs),
  });

export interface ShutdownKubeletStep extends NodeStep {
  /** Whether `kubelet-shutdown.yaml` is put into the cluster first. */
  readonly applyDaemonSet: boolean;
  /** For its container; default: the manifest's. */
  readonly image?: string | undefined;
}

export const shutdownKubeletStep: ClusterWork<ShutdownKubeletStep> = (cluster, { node, ...step }) => {
  const state = { isApplied: !step.applyDaemonSet };
  const round = async (signal: AbortSignal, announce: Announce): Promise<Round> => {
    if (!state.isApplied) {
      await readNode(cluster, node, signal); // nothing is applied for a node that is not there
      await applyDaemonSet(cluster, step.image, signal);
      state.isApplied = true;
    }
    return shutdownKubelet(cluster, node, signal, announce);
  };
  return repeatRounds(round, {
    what: `shutdown of the kubelet of node ${node}`,
    ...limits(step, nodeRetryMs),
    watch: watchNode(cluster, node),
  });
};

export const removeFromClusterStep: ClusterWork<NodeStep> = (cluster, { node, ...step }) => {
  const state = { isSeen: false };
  const round = async (signal: AbortSignal, announce: Announce): Promise<Round> => {
    // to a round a node that is gone is done; to who names one that never was, it is a mistake
    if (!state.isSeen) await readNode(cluster, node, signal);
    state.isSeen = true;
    return removeFromCluster(cluster, node, signal, announce);
  };
  return repeatRounds(round, {
    what: `removal of node ${node} from the cluster`,
    ...limits(step, nodeRetryMs),
    watch: watchNode(cluster, node),
  });
};

/** Before the first change of all rounds. */
function guardOnce(cluster: Cluster, guard: Omit<Guard, 'isBegun'>) {
  const state = { isBegun: false };
  return (signal: AbortSignal, announce: Announce): Announce =>
    guardChanges(cluster, { ...guard, isBegun: state.isBegun }, signal, (changes, outcome) => {
      state.isBegun = true;
      return announce(changes, outcome);
    });
}

function limits({ timeout, signal, journal }: Omit<NodeStep, 'node'>, everyMs: number) {
  return { timeoutMs: timeout * 1000, everyMs, signal, journal };
}

function watchPods(cluster: Cluster, node: string) {
  return (signal: AbortSignal, changed: () => void): void => cluster.watch(podsPath, podsOf(node), signal, changed);
}

function watchNode(cluster: Cluster, node: string) {
  const query = { fieldSelector: `metadata.name=${node}` };
  return (signal: AbortSignal, changed: () => void): void => cluster.watch(nodesPath, query, signal, changed);
}
