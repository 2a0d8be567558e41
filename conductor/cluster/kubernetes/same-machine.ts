import type { ClusterNode } from '#conductor/cluster/kubernetes/objects.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/share-cluster.ts';
import type { RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Names such as n1 stand in more than one site's cluster: the cluster's node must be the machine whose inventory is known,
 * by the system UUID (SMBIOS) that its kubelet reports.
 * @param systemUuid of the machine's inventory; `undefined`: none was recorded
 * @returns a remark where there is nothing to compare
 * @throws AppError `conflict` with `details.refusal`, naming both, when it is another machine
 */
export function requireSameMachine(
  cluster: Pick<Cluster, 'server'>,
  { metadata, status }: ClusterNode,
  systemUuid: string | undefined,
): RoundMessage[] {
  const reportedUuid = status?.nodeInfo?.systemUUID ?? undefined;
  // a kubelet that can't read the UUID gives the machine ID of the operating system
  const isMachineId = reportedUuid !== undefined && plain(reportedUuid) === plain(status?.nodeInfo?.machineID ?? '');
  const ofCluster = reportedUuid === undefined || isMachineId ? undefined : meaningful(reportedUuid);
  const ofInventory = meaningful(systemUuid ?? '');
  if (ofCluster === undefined || ofInventory === undefined) {
    const where = ofInventory === undefined ? "the machine's inventory has none" : 'the cluster reports none';
    const message = `Whether node ${metadata.name} of the cluster is this machine is not known from its system UUID: ${where}`;
    return [{ message, error: false, name: metadata.name, kind: 'Node' }];
  }
  if (ofCluster === ofInventory || ofCluster === swapped(ofInventory)) return [];
  throw new AppError(
    'conflict',
    `node ${metadata.name} of the Kubernetes cluster at ${cluster.server} is another machine: its system UUID is ${reportedUuid}, ` +
      `the inventory's ${systemUuid}. BATON_KUBECONFIG may name another site's cluster; after a change of its main board ` +
      'the machine has to be inspected again',
    { details: { refusal: true } },
  );
}

function plain(uuid: string): string {
  return uuid.replaceAll('-', '').trim().toLowerCase();
}

/** `undefined` for what no board maker has filled in. */
function meaningful(uuid: string): string | undefined {
  const digits = plain(uuid);
  if (!/^[0-9a-f]{32}$/.test(digits) || /^(?:0+|f+)$/.test(digits)) return undefined;
  // of AMI's template, on boards of many makers
  return digits === '03000200040005000006000700080009' ? undefined : digits;
}

/** SMBIOS before 2.6 left open how the first three fields are read. */
function swapped(digits: string): string {
  const turn = (part: string): string => (part.match(/../g) ?? []).toReversed().join('');
  return `${turn(digits.slice(0, 8))}${turn(digits.slice(8, 12))}${turn(digits.slice(12, 16))}${digits.slice(16)}`;
}
