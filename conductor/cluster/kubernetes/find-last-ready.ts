import { isCordoned, isReady } from '#conductor/cluster/kubernetes/cordon.ts';
import type { ClusterNode } from '#conductor/cluster/kubernetes/objects.ts';

const rolePrefix = 'node-role.kubernetes.io/';

/**
 * Nodes whose leaving would leave the cluster without a Ready node that takes pods, or without such a one of a role, with
 * the reason. Who is not Ready is missed by nobody. Pure.
 * @param staysOut those before in the list don't come back
 */
export function findLastReady(
  nodes: readonly ClusterNode[],
  { names, staysOut }: { readonly names: readonly string[]; readonly staysOut: boolean },
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const node = nodes.find(({ metadata }) => metadata.name === name);
    if (!node || !isReady(node)) continue;
    const gone = new Set(staysOut ? names.slice(0, index + 1) : [name]);
    // a cordoned one takes no pods in its place
    const left = nodes.filter((each) => !gone.has(each.metadata.name) && isReady(each) && !isCordoned(each));
    const role = rolesOf(node).find((each) => !left.some((other) => rolesOf(other).includes(each)));
    if (left.length === 0) found.set(name, 'it is the last Ready node of its cluster');
    else if (role !== undefined) found.set(name, `it is the last Ready node of its cluster with the role ${role}`);
  }
  return found;
}

function rolesOf({ metadata: { labels } }: ClusterNode): string[] {
  return Object.keys(labels ?? {}).flatMap((label) =>
    label.startsWith(rolePrefix) ? [label.slice(rolePrefix.length)] : [],
  );
}
