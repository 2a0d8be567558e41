import type { ClusterNode, Pod, Requirement } from '#conductor/cluster/kubernetes/client/objects.ts';

/** The seed's spelling. */
export const decommissionLabel = 'promenade-decomission';
export const decommissionValue = 'enabled';

/**
 * Labels that a kubelet says of its own node, and would say again: what it may set itself below `kubernetes.io` and
 * `k8s.io` according to Kubernetes' NodeRestriction.
 */
const ownKeys: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
]);
const ownDomains = ['kubelet.kubernetes.io', 'node.kubernetes.io'];

/** Returns whether the kubelet, or the cloud, sets the label by itself: it is no one's addition. Pure. */
export function isOwnLabel(key: string): boolean {
  const [domain, ...name] = key.split('/');
  if (name.length === 0 || domain === undefined) return false;
  return ownKeys.has(key) || ownDomains.some((own) => domain === own || domain.endsWith(`.${own}`));
}

/**
 * Returns the labels that somebody added to the node, but the one that stops its kubelet: `node-role.kubernetes.io/…` and
 * `node-restriction.kubernetes.io/…` are among them, for no kubelet may set those. Pure.
 */
export function addedLabels({ metadata }: ClusterNode): string[] {
  return Object.keys(metadata.labels ?? {}).filter((key) => key !== decommissionLabel && !isOwnLabel(key));
}

/**
 * Returns whether a pod's node selector and required node affinity allow a node with these labels; a daemon set takes its
 * pods from nodes that they do not allow. Pure.
 */
export function allowsNode({ spec }: Pod, node: ClusterNode): boolean {
  const labels = node.metadata.labels ?? {};
  const fields = { 'metadata.name': node.metadata.name };
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (!selected || !terms) return selected;
  return terms.some((term) => {
    const ofLabels = term.matchExpressions ?? [];
    const ofFields = term.matchFields ?? [];
    if (ofLabels.length + ofFields.length === 0) return false; // a term without requirements matches nothing
    return (
      ofLabels.every((each) => meetsRequirement(each, labels)) &&
      ofFields.every((each) => meetsRequirement(each, fields))
    );
  });
}

/** Returns whether labels, or fields, are what one expression of a selector asks for. Pure. */
export function meetsRequirement(
  { key, operator, values }: Requirement,
  of: Readonly<Record<string, string>>,
): boolean {
  const value = of[key];
  switch (operator) {
    case 'In':
      return value !== undefined && (values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return Number(value) > Number(values?.[0]);
    case 'Lt':
      return Number(value) < Number(values?.[0]);
    default:
      return true; // an operator of a later Kubernetes: nothing is waited for because of it
  }
}
