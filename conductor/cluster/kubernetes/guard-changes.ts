import type { Announce } from '#conductor/cluster/cluster-changes.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/cluster.ts';
import { findLeaving } from '#conductor/cluster/kubernetes/drain-node.ts';
import { findLastReady } from '#conductor/cluster/kubernetes/find-last-ready.ts';
import { ClusterNode, listAll, nodesPath } from '#conductor/cluster/kubernetes/objects.ts';
import { evictRight, findMissingRights, patchRight, rightsError } from '#conductor/cluster/kubernetes/rights.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What is asked for before a node's first change by a step. */
export interface Guard {
  readonly node: string;
  /** Leaves out the guard for the last Ready node. */
  readonly force: boolean;
  /** The step evicts pods, too. */
  readonly evicts: boolean;
  /** What else has to be so, of clusters that this one knows nothing of. */
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
  return async (changes) => {
    if (!state.isPassed)
      await Promise.all([
        requireOthers(cluster, guard, signal),
        requireRights(cluster, guard, signal),
        guard.require?.(signal),
      ]);
    state.isPassed = true;
    await announce(changes);
  };
}

async function requireOthers(cluster: Cluster, { node, force }: Guard, signal: AbortSignal): Promise<void> {
  if (force) return;
  const nodes = await listAll(cluster, nodesPath, ClusterNode, { what: 'nodes', signal });
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

async function requireRights(cluster: Cluster, { node, evicts }: Guard, signal: AbortSignal): Promise<void> {
  const missing = await findMissingNodeRights(cluster, evicts ? [node] : [], signal);
  if (missing.length > 0) throw rightsError(`change node ${node}`, missing);
}

/**
 * What the account may not that a node's drain and labels need; it may evict in all namespaces, or in those of the pods
 * that leave.
 * @param drained nodes whose pods are to leave. @throws AppError as `Cluster.request`
 */
export async function findMissingNodeRights(
  cluster: Cluster,
  drained: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  const missing = await findMissingRights(cluster, [patchRight], signal);
  const isFree = drained.length === 0 || (await findMissingRights(cluster, [evictRight], signal)).length === 0;
  if (isFree) return missing;
  const pods = (await Promise.all(drained.map((node) => findLeaving(cluster, node, signal)))).flat();
  const namespaces = new Set(pods.map(({ metadata }) => metadata.namespace));
  const there = [...namespaces].map((namespace) => ({ ...evictRight, namespace }));
  return [...missing, ...(await findMissingRights(cluster, there, signal))];
}
