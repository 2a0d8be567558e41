import { z } from 'zod';
import { type Announce, makeChanges } from '#conductor/cluster/cluster-changes.ts';
import { asStepFailure } from '#conductor/cluster/cluster-faults.ts';
import type { Journal } from '#conductor/cluster/journal.ts';
import { clearLabels, restoreLabels } from '#conductor/cluster/kubernetes/clear-labels.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { decommissionLabel, decommissionValue } from '#conductor/cluster/kubernetes/client/node-labels.ts';
import {
  type ClusterNode,
  nodesPath,
  podsOf,
  podsPath,
  readNode,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { parseReply } from '#conductor/cluster/kubernetes/client/read-answer.ts';
import { isAbsent } from '#conductor/cluster/kubernetes/client/refusal.ts';
import { apiPath, mergePatch } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { applyDaemonSet, hasDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { type Guard, guardChanges } from '#conductor/cluster/kubernetes/guard-changes.ts';
import { removeFromCluster } from '#conductor/cluster/kubernetes/remove-from-cluster.ts';
import { type Round, type RoundMessage, repeatRounds } from '#conductor/cluster/repeat-rounds.ts';
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

/** Asks a guard once, before the first change of all rounds. */
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

const Lease = z.looseObject({
  spec: z.looseObject({ renewTime: z.string().nullish(), leaseDurationSeconds: z.number().nullish() }),
});

/** Names in `kubelet-shutdown.yaml`. */
export const kubeletShutdown = { namespace: 'kube-system', name: 'baton-kubelet-shutdown' } as const;

const defaultLeaseSeconds = 40;

/**
 * One look at a node whose kubelet is to stop: labels it `promenade-decomission: enabled`, upon which the daemon set of
 * `kubelet-shutdown.yaml` stops it; done when the kubelet renews its lease no more, or the cluster holds the node for lost.
 * The API does not distinguish between a kubelet that was stopped and one that can't be reached: the message says what is
 * known.
 * @throws AppError as `Cluster.request`; `not_found` when the cluster has no such node
 */
export async function shutdownKubelet(
  cluster: Cluster,
  name: string,
  signal: AbortSignal,
  announce?: Announce,
): Promise<Round> {
  const node = await readNode(cluster, name, signal);
  if (node.metadata.labels?.[decommissionLabel] !== decommissionValue) {
    const message = `Node ${name} is labelled ${decommissionLabel}: ${decommissionValue}, which stops its kubelet`;
    const body = { metadata: { labels: { [decommissionLabel]: decommissionValue } } };
    await makeChanges(announce, [{ kind: 'kubelet', name, message }], () =>
      cluster.request('PATCH', apiPath(nodesPath, name), { body, contentType: mergePatch, signal }),
    );
  }
  const silence = holdsForLost(node) ?? (await leaseRunOut(cluster, name, signal));
  if (silence !== undefined) {
    return { state: 'done', messages: [{ message: `Kubelet of node ${name} is silent: ${silence}`, error: false }] };
  }
  const isApplied = await hasDaemonSet(cluster, kubeletShutdown, signal);
  const message = isApplied
    ? `Kubelet of node ${name} still reports; the daemon set for nodes with the label ` +
      `${decommissionLabel}: ${decommissionValue} is to stop it`
    : `Kubelet of node ${name} still reports, and the cluster has no daemon set ${kubeletShutdown.namespace}/` +
      `${kubeletShutdown.name} to stop it: \`baton shutdown-kubelet ${name} --apply-daemon-set\` puts it there`;
  const label: RoundMessage = { message, error: true, name, kind: 'Node', summarized: true };
  return { state: 'waiting', reason: message, messages: [label] };
}

/**
 * Describes that the cluster has lost the node: `Unknown` is the cluster's own word for it, while `False` is reported by a
 * kubelet that still runs.
 */
function holdsForLost({ status }: ClusterNode): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'Unknown' ? `the cluster has lost it (${ready.reason ?? 'NodeStatusUnknown'})` : undefined;
}

async function leaseRunOut(cluster: Cluster, name: string, signal: AbortSignal): Promise<string | undefined> {
  const path = apiPath('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', name);
  try {
    const reply = await cluster.request('GET', path, { signal });
    const { spec } = parseReply(Lease, reply, `lease of node ${name}`);
    if (!spec.renewTime || !reply.serverTime) return undefined;
    const ageMs = reply.serverTime.getTime() - Date.parse(spec.renewTime);
    const isOver = ageMs > (spec.leaseDurationSeconds ?? defaultLeaseSeconds) * 1000;
    return isOver ? `it has not renewed its lease since ${spec.renewTime}` : undefined;
  } catch (error) {
    // a cluster without leases has the node's own condition
    if (isAbsent(error, { kind: 'leases', name })) return undefined;
    throw error;
  }
}
