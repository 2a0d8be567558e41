import type { Announce } from '#conductor/cluster/cluster-changes.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import {
  ClusterNode,
  isCordoned,
  isReady,
  listAll,
  listPodsOf,
  nodesPath,
  type Pod,
  readReady,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { findLeaving } from '#conductor/cluster/kubernetes/drain-node.ts';
import { controllerOf } from '#conductor/cluster/kubernetes/plan-drain.ts';
import {
  daemonSetRight,
  deleteRight,
  evictRight,
  findMissingRights,
  listPodsRight,
  patchRight,
  type Right,
  rightsError,
} from '#conductor/cluster/kubernetes/rights.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Conditions that are asked for before a node's first change by a step. */
export interface Guard {
  readonly node: string;
  /** Leaves out the guard for the last Ready node. */
  readonly force: boolean;
  /** The step evicts pods, too. */
  readonly evicts: boolean;
  /** A later step deletes the node from its cluster: without that right the rest would be done for nothing. */
  readonly deletes: boolean;
  /** Checks what else has to be so, of clusters that this one knows nothing of. */
  readonly require?: ((signal: AbortSignal) => Promise<void>) | undefined;
  /** The step has changed something already: what it is about was found possible then. */
  readonly isBegun: boolean;
}

/**
 * Has what a step is about to do first looked at once more, right before it does it.
 * @returns announces as `announce`. @throws AppError `conflict` with `details.refusal` for the last Ready node of the
 * cluster, or of a role, `forbidden` naming rights that are missing; then nothing was announced
 */
export function guardChanges(cluster: Cluster, guard: Guard, signal: AbortSignal, announce: Announce): Announce {
  const state = { isPassed: guard.isBegun };
  return async (changes, outcome) => {
    if (!state.isPassed && outcome === undefined)
      await Promise.all([
        requireOthers(cluster, guard, signal),
        requireRights(cluster, guard, signal),
        guard.require?.(signal),
      ]);
    state.isPassed = true;
    await announce(changes, outcome);
  };
}

async function requireOthers(cluster: Cluster, { node, force }: Guard, signal: AbortSignal): Promise<void> {
  if (force) return;
  const nodes = await listAll(cluster, nodesPath, ClusterNode, { what: 'nodes', signal });
  if (!nodes.some(({ metadata }) => metadata.name === node)) {
    const message = `the Kubernetes API server's list of nodes lacks ${node}, so nothing says which others are Ready`;
    throw new AppError('unavailable', message);
  }
  const why = findLastReady(nodes, { names: [node], staysOut: false }).get(node);
  if (why === undefined) return;
  throw new AppError(
    'conflict',
    `node ${node} must not leave its cluster: ${why}; force=true takes it out all the same`,
    {
      details: { refusal: true },
    },
  );
}

async function requireRights(cluster: Cluster, { node, evicts, deletes }: Guard, signal: AbortSignal): Promise<void> {
  const missing = await findMissingNodeRights(cluster, { drained: evicts ? [node] : [], deletes }, signal);
  if (missing.length > 0) throw rightsError(`change node ${node}`, missing);
}

interface NodeWork {
  /** Nodes whose pods are to leave. */
  readonly drained: readonly string[];
  /** Nodes are deleted from the cluster in the end. */
  readonly deletes: boolean;
}

/**
 * Finds the rights that the account lacks to take nodes out of the cluster. To evict, and to read daemon sets, it may
 * be allowed in all namespaces, or in those of the nodes' pods.
 * @throws AppError as `Cluster.request`
 */
export async function findMissingNodeRights(
  cluster: Cluster,
  { drained, deletes }: NodeWork,
  signal: AbortSignal,
): Promise<string[]> {
  const ask = (rights: readonly Right[]): Promise<string[]> => findMissingRights(cluster, rights, signal);
  const [unlisted, changes] = await Promise.all([
    ask([listPodsRight]),
    ask([patchRight, ...(deletes ? [deleteRight] : [])]),
  ]);
  const missing = [...changes, ...unlisted];
  const [mayEvict, mayRead] = await Promise.all(
    [evictRight, daemonSetRight].map(async (right) => drained.length === 0 || (await ask([right])).length === 0),
  );
  // without the pods nobody knows where else it needs rights
  if ((mayEvict && mayRead) || unlisted.length > 0) return missing;
  const there = (right: Right, pods: readonly Pod[]): Promise<string[]> =>
    ask([...new Set(pods.map(({ metadata }) => metadata.namespace))].map((namespace) => ({ ...right, namespace })));
  const pods = (await Promise.all(drained.map((node) => listPodsOf(cluster, node, signal)))).flat();
  const unread = mayRead ? [] : await there(daemonSetRight, pods.filter(isOfDaemonSet));
  if (mayEvict || unread.length > 0) return [...missing, ...unread];
  const leaving = (await Promise.all(drained.map((node) => findLeaving(cluster, node, signal)))).flat();
  return [...missing, ...(await there(evictRight, leaving))];
}

function isOfDaemonSet(pod: Pod): boolean {
  return controllerOf(pod)?.kind === 'DaemonSet';
}

const rolePrefix = 'node-role.kubernetes.io/';

/**
 * Finds nodes without which the cluster would have no Ready node that takes pods, or none of a role, with the reason. Who
 * says itself that it is not Ready is missed by nobody; of whom the cluster hears nothing, pods may well run: all kubelets
 * are silent where the way to the API server is cut. Pure.
 * @param staysOut those before in the list don't come back
 */
export function findLastReady(
  nodes: readonly ClusterNode[],
  { names, staysOut }: { readonly names: readonly string[]; readonly staysOut: boolean },
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const node = nodes.find(({ metadata }) => metadata.name === name);
    if (!node || readReady(node) === 'not ready') continue;
    const gone = new Set(staysOut ? names.slice(0, index + 1) : [name]);
    // a cordoned one takes no pods in its place
    const left = nodes.filter((each) => !gone.has(each.metadata.name) && isReady(each) && !isCordoned(each));
    const role = rolesOf(node).find((each) => !left.some((other) => rolesOf(other).includes(each)));
    const last = isReady(node) ? 'it is the last Ready node of its cluster' : lastUnheard;
    if (left.length === 0) found.set(name, last);
    else if (role !== undefined) found.set(name, `${last} with the role ${role}`);
  }
  return found;
}

const lastUnheard = 'the cluster has not heard whether it is Ready, and has no other Ready node';

/** Reads a node's roles from both labels that `kubectl get nodes` takes for roles. */
function rolesOf({ metadata: { labels } }: ClusterNode): string[] {
  return Object.entries(labels ?? {}).flatMap(([label, value]) => {
    if (label.startsWith(rolePrefix)) return [label.slice(rolePrefix.length)];
    return label === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
}
