import { type Announce, makeChanges } from '#conductor/cluster/cluster-changes.ts';
import { apiPath, type Cluster, mergePatch } from '#conductor/cluster/kubernetes/cluster.ts';
import { type ClusterNode, nodesPath } from '#conductor/cluster/kubernetes/objects.ts';

/** Marks the node as unschedulable. @returns whether it was not so already */
export async function cordon(
  cluster: Cluster,
  node: ClusterNode,
  signal: AbortSignal,
  announce?: Announce,
): Promise<boolean> {
  if (isCordoned(node)) return false;
  const { name } = node.metadata;
  const body = { spec: { unschedulable: true } };
  await makeChanges(announce, [{ kind: 'cordon', name, message: `Node ${name} is cordoned` }], () =>
    cluster.request('PATCH', apiPath(nodesPath, name), { body, contentType: mergePatch, signal }),
  );
  return true;
}

export function isCordoned({ spec }: ClusterNode): boolean {
  return spec?.unschedulable === true;
}

/** Whether its kubelet reports it as ready; pods of one that does not stay, since nobody confirms their end. */
export function isReady({ status }: Pick<ClusterNode, 'status'>): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
}
