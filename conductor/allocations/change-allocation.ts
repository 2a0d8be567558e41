import { allocationResource, deleteUnmatched, getAllocation } from '#conductor/allocations/allocation-store.ts';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import { AllocationPatch } from '#conductor/api/allocations.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';
import { type JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import { forgetAllocation, requireReleasable } from '#conductor/nodes/node-allocation.ts';
import { nodeNameFault } from '#conductor/nodes/node-fields.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { notifyCapacity } from '#conductor/nodes/notify-capacity.ts';
import { getRow, lockRow, updateRow } from '#conductor/nodes/resources/resource-store.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * `PATCH /v1/allocations/{allocation}`: name and extra, in any state (allocation.md §5).
 * @throws AppError `not_found`, `invalid_argument` naming the field, `conflict` for a duplicate name.
 */
export function changeAllocation(
  db: Queryable,
  uuid: string,
  patch: JsonPatch,
  version: number,
): Promise<AllocationRow> {
  return db.transaction(async (tx) => {
    const row = await lockRow(tx, allocationResource, uuid);
    const { name, extra } = patchDocument({ name: row.name, extra: row.extra }, patch, AllocationPatch);
    const fault = typeof name === 'string' && name !== row.name ? nodeNameFault(name, version) : undefined;
    if (fault)
      throw new AppError('invalid_argument', `Cannot change name of allocation ${uuid} to '${name}': ${fault}.`);
    await updateRow(tx, allocationResource, row, { name: name ?? null, extra: extra ?? {} });
    return getRow(tx, allocationResource, uuid);
  });
}

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
