import { getAllocation } from '#conductor/allocations/allocation-store.ts';
import { refuseRelease } from '#conductor/allocations/release-allocation.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { NodeChange } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * What an operator's change of a node means for its allocation (allocation.md §6): without its `instance_uuid` the node
 * is given back, which `refuseRelease` may forbid; its owner stays while the allocation has one.
 * @returns the change with what follows from it; `releases` = the allocation is to be deleted with it
 * @throws AppError `conflict`.
 */
export async function followNodeChange(
  db: Queryable,
  node: NodeRow,
  change: NodeChange,
): Promise<{ readonly change: NodeChange; readonly releases: boolean }> {
  if (node.allocationUuid === null) return { change, releases: false };
  if (change.instanceUuid === null) {
    refuseRelease(node);
    return { change: { ...change, allocationUuid: null }, releases: true };
  }
  if (change.owner !== undefined) {
    const { uuid, owner } = await getAllocation(db, node.allocationUuid);
    if (owner !== null) {
      throw new AppError(
        'conflict',
        `Cannot change owner of node ${node.uuid}: its allocation ${uuid} is made for owner ${owner}.`,
      );
    }
  }
  return { change, releases: false };
}
