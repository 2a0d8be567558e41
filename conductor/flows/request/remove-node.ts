import { and, eq, exists, lt, not, notExists, or, type SQL, sql } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { requireNoFlow } from '#conductor/flows/request/require-no-flow.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { type NodeRow, nodeHistory, nodes } from '#conductor/kernel/db/schema/node.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { loggedIds, type RequestIds } from '#conductor/model/request-ids.ts';
import { deleteAllocationOfNode } from '#conductor/nodes/change/node-allocation.ts';
import { requireUnprotected } from '#conductor/nodes/node-guards.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { deleteNode, getNode } from '#conductor/nodes/node-store.ts';
import { requireForgettable } from '#conductor/nodes/requested-wipe.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

const removableStates: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'enroll',
  'manageable',
  'adopt failed',
  'available',
]);

/**
 * Forgets a node with everything that belongs to it, its allocation too (ironic-api.md §3.4). The machine is not touched.
 * @param fence throws when who wants it has no right to it any more; holds until the node is gone
 * @throws AppError `conflict`, `forbidden` (protected), `node_locked`, `not_found`, and what `fence` throws.
 */
export async function removeNode(
  context: Pick<EngineContext, 'db' | 'clock' | 'log' | 'networks'>,
  nodeUuid: string,
  { user, project, ...ids }: Pick<Caller, 'user' | 'project' | keyof RequestIds>,
  fence?: (tx: Transaction) => Promise<void>,
): Promise<void> {
  const seen = await getNode(context.db, nodeUuid);
  // what can't be removed as it is need not be waited for until nothing works on it
  requireRemovable(seen);
  await removeFromNeutron(context, seen);
  const name = await changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      await fence?.(tx);
      requireRemovable(node);
      // it would go on nowhere, with what it has begun in the node's clusters forgotten
      if (!node.maintenance) requireNoFlow(node, await findOpenFlow(tx, nodeUuid), 'delete');
      await deleteAllocationOfNode(tx, nodeUuid);
      await deleteNode(tx, nodeUuid);
      return node.name;
    },
    undefined,
    undefined,
    ({ maintenance }) => maintenance,
  );
  // its history is gone with it
  context.log.info({ node: nodeUuid, name, user, project, ...loggedIds(ids) }, 'node deleted');
}

/** Removes what a flow that failed has left there; nobody else would ever look for it. */
async function removeFromNeutron(
  { networks, log }: Pick<EngineContext, 'networks' | 'log'>,
  node: NodeRow,
): Promise<void> {
  if (node.networkInterface !== 'neutron') return;
  requireRemovable(node);
  await networks.neutron?.removeOwn(node.uuid).catch((error: unknown) => {
    if (!node.maintenance) throw error;
    log.warn({ err: error, node: node.uuid }, 'ports of Neutron that Baton has made for the node may be left');
  });
}

function requireRemovable(node: NodeRow): void {
  requireUnprotected(node);
  if (node.maintenance) return;
  if (node.instanceUuid) {
    throw new AppError('conflict', `Node ${node.uuid} is associated with instance ${node.instanceUuid}.`);
  }
  if (!removableStates.has(node.provisionState)) {
    throw new AppError(
      'conflict',
      `Can not delete node "${node.uuid}" while it is in provision state "${node.provisionState}". ` +
        `Valid provision states to perform deletion are: ${[...removableStates].join(', ')}, or any state in maintenance.`,
    );
  }
  requireForgettable(node);
}

/**
 * Deletes discovered machines that have not booted for BATON_DISCOVERY_FORGET_DAYS and that nobody has touched: they are
 * in `enroll`, and their history has what discovery and its rules wrote, and nothing else. One that boots again is
 * enrolled again.
 */
export async function forgetDiscovered(
  context: Pick<EngineContext, 'db' | 'clock' | 'log' | 'config' | 'stopping' | 'networks'>,
): Promise<void> {
  const { db, log } = context;
  const { forgetMs = 0 } = context.config.discovery ?? {};
  if (forgetMs === 0) return;
  const isForgotten = and(
    eq(nodes.provisionState, 'enroll'),
    eq(nodes.protected, false),
    lt(nodes.inspectionFinishedAt, new Date(context.clock.now().getTime() - forgetMs)),
    exists(
      db
        .select()
        .from(nodeHistory)
        .where(ofNode(eq(nodeHistory.eventType, 'discovery'))),
    ),
    notExists(
      db
        .select()
        .from(nodeHistory)
        .where(ofNode(not(isOfDiscovery))),
    ),
  );
  for (const { uuid } of await db.select({ uuid: nodes.uuid }).from(nodes).where(isForgotten)) {
    if (context.stopping.aborted) return;
    try {
      await removeNode(context, uuid, { user: undefined, project: undefined }, async (tx) => {
        const [still] = await tx
          .select({ uuid: nodes.uuid })
          .from(nodes)
          .where(and(eq(nodes.uuid, uuid), isForgotten));
        if (!still) throw new AppError('conflict', `node ${uuid} has been taken up meanwhile`);
      });
    } catch (error) {
      log.debug({ err: error, node: uuid, outcome: errorCode(error) }, 'a discovered machine is not forgotten');
    }
  }
}

const isOfDiscovery = sql`${or(eq(nodeHistory.eventType, 'discovery'), eq(nodeHistory.eventType, 'inspection'))}`;

function ofNode(condition: SQL): SQL | undefined {
  return and(eq(nodeHistory.nodeUuid, nodes.uuid), condition);
}
