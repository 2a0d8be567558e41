import { deleteAllocationOfNode, deleteUnmatched, getAllocation } from '#conductor/allocations/allocation-store.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { refuseInTransition } from '#conductor/nodes/plan-node-patch.ts';
import { tellOfCapacity } from '#conductor/nodes/tell-of-capacity.ts';
import type { ConductorContext } from '#conductor/start/context.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * The one rule for both ways of giving a node back, `DELETE` of its allocation and clearing its `instance_uuid`: always
 * in maintenance; else neither while the node is active nor while it is on its way into another state. Pure.
 * @throws AppError `conflict`.
 */
export function refuseRelease(node: NodeRow): void {
  if (node.maintenance) return;
  if (node.provisionState === 'active') {
    throw new AppError(
      'conflict',
      `Node ${node.uuid} is active: its allocation can't be released before it is undeployed, which releases it.`,
    );
  }
  refuseInTransition(node);
}

/**
 * Deletes an allocation and gives its node back, in one transaction. What stands in the node's `instance_info` stays.
 * @throws AppError `not_found`, `conflict` (node active, or on its way into another state), `node_locked`.
 */
export async function releaseAllocation(
  context: Pick<ConductorContext, 'db' | 'clock' | 'config'>,
  uuid: string,
  caller: Caller,
): Promise<void> {
  // it may be given a node between the two looks
  if (await deleteUnmatched(context.db, uuid)) return;
  const { nodeUuid } = await getAllocation(context.db, uuid);
  if (nodeUuid === null) throw new AppError('conflict', `Allocation ${uuid} is being changed; try again.`);
  try {
    await changeUnlocked(context, nodeUuid, async (tx, node) => {
      if (node.allocationUuid !== uuid) throw new AppError('not_found', `Allocation ${uuid} could not be found.`);
      refuseRelease(node);
      await updateNode(tx, nodeUuid, { allocationUuid: null, instanceUuid: null });
      await forgetAllocation(tx, node, { conductor: context.config.conductorName, caller });
      await tellOfCapacity(tx, nodeUuid);
    });
  } catch (error) {
    if (errorCode(error) !== 'not_found') throw error;
    throw new AppError('not_found', `Allocation ${uuid} could not be found.`, { cause: error });
  }
}

/** In the transaction that takes the allocation from the node: the row goes, and history and webhooks say so. */
export async function forgetAllocation(
  tx: Transaction,
  node: Pick<NodeRow, 'uuid' | 'allocationUuid'>,
  by: { readonly conductor: string; readonly caller: Partial<Pick<Caller, 'user' | 'project'>> },
): Promise<void> {
  await deleteAllocationOfNode(tx, node.uuid);
  await addHistory(tx, {
    nodeUuid: node.uuid,
    severity: 'INFO',
    eventType: 'allocation',
    event: `released from allocation ${node.allocationUuid}`,
    conductor: by.conductor,
    user: by.caller.user,
    project: by.caller.project,
  });
}
