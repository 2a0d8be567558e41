import { deleteUnmatched, getAllocation } from '#conductor/allocations/allocation-store.ts';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import { forgetAllocation, requireReleasable } from '#conductor/nodes/node-allocation.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { notifyCapacity } from '#conductor/nodes/notify-capacity.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * Deletes an allocation and gives its node back, in one transaction. What stands in the node's `instance_info` stays.
 * @throws AppError `not_found`, `conflict` (node active, or on its way into another state), `node_locked`.
 */
export async function releaseAllocation(
  context: Pick<AllocationsContext, 'db' | 'clock' | 'config'>,
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
      requireReleasable(node);
      await updateNode(tx, nodeUuid, { allocationUuid: null, instanceUuid: null });
      await forgetAllocation(tx, node, { conductor: context.config.conductorName, caller });
      await notifyCapacity(tx, nodeUuid);
    });
  } catch (error) {
    if (errorCode(error) !== 'not_found') throw error;
    throw new AppError('not_found', `Allocation ${uuid} could not be found.`, { cause: error });
  }
}
