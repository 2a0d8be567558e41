import { type Announce, type ClusterChange, makeChanges } from '#conductor/cluster/cluster-changes.ts';
import { apiPath, type Cluster, mergePatch } from '#conductor/cluster/kubernetes/cluster.ts';
import { isCordoned } from '#conductor/cluster/kubernetes/cordon.ts';
import { decommissionLabel } from '#conductor/cluster/kubernetes/node-labels.ts';
import { nodesPath, readNode } from '#conductor/cluster/kubernetes/objects.ts';
import { readTakenLabels, takenLabelsKey } from '#conductor/cluster/kubernetes/taken-labels.ts';
import type { Round } from '#conductor/cluster/round.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';

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
