import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { ClusterNode, listAll, nodesPath } from '#conductor/cluster/kubernetes/client/objects.ts';
import type { RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isSameUuid, realUuid } from '#shared/machine-identity.ts';

/**
 * Refuses a cluster's node that is another machine than the one whose inventory is known, by the system UUID (SMBIOS) that
 * its kubelet reports: names such as n1 stand in more than one site's cluster.
 * @param systemUuid of the machine's inventory; `undefined`: none was recorded
 * @returns a remark where there is nothing to compare
 * @throws AppError `conflict` with `details.refusal`, naming both, when it is another machine
 */
export function requireSameMachine(
  cluster: Pick<Cluster, 'server'>,
  { metadata, status }: ClusterNode,
  systemUuid: string | undefined,
): RoundMessage[] {
  const ofCluster = uuidOf({ status });
  const ofInventory = realUuid(systemUuid);
  if (ofCluster === null || ofInventory === null) {
    const where = ofInventory === null ? "the machine's inventory has none" : 'the cluster reports none';
    const message = `Whether node ${metadata.name} of the cluster is this machine is not known from its system UUID: ${where}`;
    return [{ message, error: false, name: metadata.name, kind: 'Node' }];
  }
  if (isSameUuid(ofCluster, ofInventory)) return [];
  throw new AppError(
    'conflict',
    `node ${metadata.name} of the Kubernetes cluster at ${cluster.server} is another machine: its system UUID is ${status?.nodeInfo?.systemUUID ?? ''}, ` +
      `the inventory's ${systemUuid}. BATON_KUBECONFIG may name another site's cluster; after a change of its main board ` +
      'the machine has to be inspected again',
    { details: { refusal: true } },
  );
}

/**
 * A cluster that has no node of a name may have the machine under another one: kubelets register as `n1.example.com`, or
 * with `--hostname-override`.
 * @param notInClusterOk an operator says that the machine is not in the cluster: a name that is alike counts no more
 * @throws AppError `conflict` with `details.refusal`, naming the node that may be the machine; as `Cluster.request`
 */
export async function requireUnderNoOtherName(
  cluster: Cluster,
  { name, systemUuid, notInClusterOk }: { name: string; systemUuid: string | undefined; notInClusterOk: boolean },
  signal: AbortSignal,
): Promise<void> {
  const nodes = await listAll(cluster, nodesPath, ClusterNode, { what: 'nodes', signal });
  const ofInventory = realUuid(systemUuid);
  for (const node of nodes) {
    const ofCluster = uuidOf(node);
    const isCompared = ofCluster !== null && ofInventory !== null;
    const isSame = isCompared && isSameUuid(ofCluster, ofInventory);
    const { name: other, labels } = node.metadata;
    const isAlike = other.startsWith(`${name}.`) || labels?.['kubernetes.io/hostname'] === name;
    if (!isSame && (isCompared || !isAlike || notInClusterOk)) continue;
    throw new AppError(
      'conflict',
      `the Kubernetes cluster at ${cluster.server} has no node ${name}, but its node ${other} ` +
        (isSame ? "has this machine's system UUID" : 'may be this machine: their host names are alike') +
        `; drain and delete ${other} with kubectl, or have the document of ${name} bear the name that its kubelet registers`,
      { details: { refusal: true } },
    );
  }
}

/** Gives the UUID as its kubelet has read it from the firmware. */
function uuidOf({ status }: Pick<ClusterNode, 'status'>): string | null {
  const uuid = realUuid(status?.nodeInfo?.systemUUID);
  // a kubelet that can't read the UUID gives the machine ID of the operating system
  return uuid === realUuid(status?.nodeInfo?.machineID) ? null : uuid;
}
