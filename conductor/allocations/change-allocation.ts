import { allocationResource } from '#conductor/allocations/allocation-store.ts';
import { AllocationPatch } from '#conductor/api/allocations.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';
import { type JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import { nodeNameFault } from '#conductor/nodes/node-fields.ts';
import { getRow, lockRow, updateRow } from '#conductor/nodes/resources/resource-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
