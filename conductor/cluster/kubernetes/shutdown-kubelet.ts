import { z } from 'zod';
import { type Announce, makeChanges } from '#conductor/cluster/cluster-changes.ts';
import { apiPath, type Cluster, mergePatch } from '#conductor/cluster/kubernetes/cluster.ts';
import { hasDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { decommissionLabel, decommissionValue } from '#conductor/cluster/kubernetes/node-labels.ts';
import { type ClusterNode, nodesPath, parse, readNode } from '#conductor/cluster/kubernetes/objects.ts';
import { isAbsent } from '#conductor/cluster/kubernetes/refusal.ts';
import type { Round, RoundMessage } from '#conductor/cluster/round.ts';

const Lease = z.looseObject({
  spec: z.looseObject({ renewTime: z.string().nullish(), leaseDurationSeconds: z.number().nullish() }),
});

/** Of `kubelet-shutdown.yaml`. */
export const kubeletShutdown = { namespace: 'kube-system', name: 'baton-kubelet-shutdown' } as const;

const defaultLeaseSeconds = 40;

/**
 * One look at a node whose kubelet is to stop: labels it `promenade-decomission: enabled`, upon which the daemon set of
 * `kubelet-shutdown.yaml` stops it; done when the kubelet renews its lease no more, or the cluster holds the node for lost.
 * The API tells no difference between a kubelet that was stopped and one that can't be reached: the message says what is
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

/** `Unknown` is the cluster's own word for "has not heard of it"; `False` is the kubelet's, which speaks then. */
function holdsForLost({ status }: ClusterNode): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'Unknown' ? `the cluster has lost it (${ready.reason ?? 'NodeStatusUnknown'})` : undefined;
}

async function leaseRunOut(cluster: Cluster, name: string, signal: AbortSignal): Promise<string | undefined> {
  const path = apiPath('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', name);
  try {
    const reply = await cluster.request('GET', path, { signal });
    const { spec } = parse(Lease, reply, `lease of node ${name}`);
    if (!spec.renewTime) return undefined;
    // by the server's clock: the conductor's may be another
    const ageMs = reply.serverTime.getTime() - Date.parse(spec.renewTime);
    const isOver = ageMs > (spec.leaseDurationSeconds ?? defaultLeaseSeconds) * 1000;
    return isOver ? `it has not renewed its lease since ${spec.renewTime}` : undefined;
  } catch (error) {
    // a cluster without leases has the node's own condition
    if (isAbsent(error, { kind: 'leases', name })) return undefined;
    throw error;
  }
}
