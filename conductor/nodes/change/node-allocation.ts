import { eq, type SQL } from 'drizzle-orm';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { notifyWebhooksOfAllocations } from '#conductor/kernel/outbox.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { type RequestIds, requestIdsOf } from '#conductor/model/request-ids.ts';
import { requireNoTransition } from '#conductor/nodes/change/plan-node-patch.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import type { NodeChange } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** With an instance, which runs or comes back. */
const inUse: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'active',
  'rescue',
  'rescue failed',
  'unrescue failed',
  'service failed',
  'service hold',
]);

/** Connects a node with its allocation: what each means for the other, and its end. */

/**
 * The one rule for both ways of giving a node back, `DELETE` of its allocation and clearing its `instance_uuid`: always
 * in maintenance; else neither while the node has an instance that is somebody's nor while it is on its way into another state. Pure.
 * @throws AppError `conflict`.
 */
export function requireReleasable(node: NodeRow): void {
  if (node.maintenance) return;
  if (inUse.has(node.provisionState)) {
    throw new AppError(
      'conflict',
      `Node ${node.uuid} is ${node.provisionState === 'active' ? 'active' : `in '${node.provisionState}'`}: its allocation can't be released before it is undeployed, which releases it.`,
    );
  }
  requireNoTransition(node);
}

/**
 * Finds what an operator's change of a node means for its allocation (allocation.md §6): without its `instance_uuid`
 * the node is given back, which `requireReleasable` may forbid; its owner, or the lessee that got it, stays while the
 * allocation has one.
 * @returns the change with what follows from it; `releases` = the allocation is to be deleted with it
 * @throws AppError `conflict`.
 */
export async function followNodeChange(
  db: Queryable,
  node: NodeRow,
  change: NodeChange,
): Promise<{ readonly change: NodeChange; readonly releases: boolean }> {
  const uuid = node.allocationUuid;
  if (uuid === null) return { change, releases: false };
  if (change.instanceUuid === null) {
    requireReleasable(node);
    return { change: { ...change, allocationUuid: null }, releases: true };
  }
  const field = (['owner', 'lessee'] as const).find((each) => change[each] !== undefined);
  if (field) {
    const [row] = await db.select({ owner: allocations.owner }).from(allocations).where(eq(allocations.uuid, uuid));
    // it got the node for its owner, or for its lessee
    if (row && row.owner !== null && (field === 'owner' || node.lessee === row.owner)) {
      throw new AppError(
        'conflict',
        `Cannot change ${field} of node ${node.uuid}: its allocation ${uuid} is made for owner ${row.owner}.`,
      );
    }
  }
  return { change, releases: false };
}

/** Deletes the allocation's row in the transaction that takes it from the node; history and webhooks say so. */
export async function forgetAllocation(
  tx: Transaction,
  node: Pick<NodeRow, 'uuid' | 'allocationUuid'>,
  by: { readonly conductor: string; readonly caller: Partial<Pick<Caller, 'user' | 'project' | keyof RequestIds>> },
): Promise<void> {
  await deleteAllocationOfNode(tx, node.uuid);
  await addHistory(tx, {
    nodeUuid: node.uuid,
    eventType: 'allocation',
    event: `released from allocation ${node.allocationUuid}`,
    conductor: by.conductor,
    user: by.caller.user,
    project: by.caller.project,
    ...requestIdsOf(by.caller),
  });
}

/** Deletes the node's allocation, in the transaction that takes it from the node. */
export async function deleteAllocationOfNode(tx: Transaction, nodeUuid: string): Promise<void> {
  await deleteAllocations(tx, eq(allocations.nodeUuid, nodeUuid));
}

/** Webhooks get what is deleted; `false` when there is nothing. */
export async function deleteAllocations(tx: Transaction, condition: SQL | undefined): Promise<boolean> {
  const rows = await tx.select({ uuid: allocations.uuid }).from(allocations).where(condition).for('update');
  if (rows.length === 0) return false;
  const uuids = rows.map(({ uuid }) => uuid);
  await notifyWebhooksOfAllocations(tx, uuids, 'deleted');
  await tx.delete(allocations).where(isAmong(allocations.uuid, uuids));
  return true;
}
