/** Kubernetes' objects and the kinds of them that the simulator has. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export type Part = Readonly<Record<string, Json | undefined>>;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
}

/** An object as it is stored; never changed in place. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: Part;
  readonly status?: Part;
}

/** An object as a client or a test writes it: the server fills in the rest. */
export interface Draft {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Partial<Metadata> & { readonly name: string };
  readonly spec?: Part;
  readonly status?: Part;
}

export interface ResourceType {
  /** Plural as in paths: `pods`. */
  readonly plural: string;
  readonly kind: string;
  /** Empty = the core. */
  readonly group: string;
  readonly version: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
}

const type = (
  plural: string,
  kind: string,
  group: string,
  options: { readonly cluster?: boolean; readonly short?: string } = {},
): ResourceType => ({
  plural,
  kind,
  group,
  version: 'v1',
  namespaced: options.cluster !== true,
  shortNames: options.short === undefined ? [] : [options.short],
});

export const resourceTypes: readonly ResourceType[] = [
  type('nodes', 'Node', '', { cluster: true, short: 'no' }),
  type('namespaces', 'Namespace', '', { cluster: true, short: 'ns' }),
  type('pods', 'Pod', '', { short: 'po' }),
  type('replicasets', 'ReplicaSet', 'apps', { short: 'rs' }),
  type('daemonsets', 'DaemonSet', 'apps', { short: 'ds' }),
  type('deployments', 'Deployment', 'apps', { short: 'deploy' }),
  type('statefulsets', 'StatefulSet', 'apps', { short: 'sts' }),
  type('poddisruptionbudgets', 'PodDisruptionBudget', 'policy', { short: 'pdb' }),
  type('leases', 'Lease', 'coordination.k8s.io'),
];

export function typeOf(plural: string): ResourceType {
  const found = resourceTypes.find((each) => each.plural === plural);
  if (!found) throw new Error(`the simulator has no ${plural}`);
  return found;
}

export function apiVersionOf({ group, version }: ResourceType): string {
  return group === '' ? version : `${group}/${version}`;
}

/** Finds what creates the object again, or deletes it too. */
export function controllerOf({ metadata }: Resource): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function nodeOf({ spec }: Resource): string | undefined {
  return typeof spec?.['nodeName'] === 'string' ? spec['nodeName'] : undefined;
}

export function phaseOf({ status }: Resource): string {
  return typeof status?.['phase'] === 'string' ? status['phase'] : '';
}

export function conditionOf({ status }: Resource, name: string): string | undefined {
  const conditions = (status?.['conditions'] ?? []) as readonly { readonly type: string; readonly status: string }[];
  return conditions.find((each) => each.type === name)?.status;
}
