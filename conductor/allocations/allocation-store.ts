import { and, eq, inArray, isNull, or, type SQL } from 'drizzle-orm';
import { AllocationPatch, allocationFields } from '#conductor/api/allocations.ts';
import { refusingDuplicates } from '#conductor/kernel/db/faults.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type AllocationInsert, type AllocationRow, allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { deleteAllocations } from '#conductor/nodes/change/node-allocation.ts';
import { type Resource, viewRow } from '#conductor/nodes/resources/resource.ts';
import { findRow } from '#conductor/nodes/resources/resource-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const allocationResource: Resource<AllocationRow> = {
  ...allocationFields,
  named: true,
  table: allocations,
  description: AllocationPatch,
  duplicates: { name: ({ name }) => duplicateName([name]) },
};

/** Fields of ours: shown where they say something. */
const ownFields = ['wait_until', 'waiting_for', 'group_uuid'];

/** Makes the allocation as the API shows it, without links. Pure. */
export function viewAllocation(
  row: AllocationRow,
  { fields, version }: { readonly version: number; readonly fields?: readonly string[] | undefined },
): Record<string, unknown> {
  const view = viewRow(allocationResource, row, { fields, version });
  if (fields) return view;
  return Object.fromEntries(
    Object.entries(view).filter(([name, value]) => value !== null || !ownFields.includes(name)),
  );
}

/**
 * Finds an allocation by UUID or name.
 * @param project what a caller bound to one may see: the others' allocations are not there
 * @throws AppError `not_found` in Ironic's words.
 */
export async function getAllocation(db: Queryable, ident: string, project?: string): Promise<AllocationRow> {
  const row = await findRow(db, allocationResource, ident);
  if (row && (project === undefined || row.owner === project)) return row;
  throw new AppError('not_found', `Allocation ${ident} could not be found.`);
}

/** With a deadline that the database reckons. */
type NewAllocation = Omit<AllocationInsert, 'waitUntil'> & { readonly waitUntil?: Date | SQL<Date> | null | undefined };

/** @throws AppError `conflict` when uuid or name is another allocation's, or the node has one already. */
export async function insertAllocations(db: Queryable, rows: readonly NewAllocation[]): Promise<AllocationRow[]> {
  const inserted = await refusingDuplicates(
    () =>
      db
        .insert(allocations)
        .values([...rows])
        .returning(),
    (constraint) => {
      if (constraint.includes('name')) return duplicateName(rows.map(({ name }) => name));
      if (constraint.includes('node')) return `Node ${rows[0]?.nodeUuid} has an allocation already.`;
      return duplicateUuid(rows[0]?.uuid);
    },
  );
  return inserted.sort((a, b) => a.id - b.id);
}

/** Refuses what `insertAllocations` would refuse now. @throws AppError `conflict` in its words. */
export async function requireNoDuplicates(
  db: Queryable,
  { uuid, names }: { readonly uuid: string | undefined; readonly names: readonly (string | null)[] },
): Promise<void> {
  const given = names.filter((name) => name !== null);
  const conditions = [
    uuid === undefined ? [] : eq(allocations.uuid, uuid),
    given.length === 0 ? [] : inArray(allocations.name, given),
  ];
  if (conditions.flat().length === 0) return;
  const [row] = await db
    .select({ uuid: allocations.uuid })
    .from(allocations)
    .where(or(...conditions.flat()));
  if (row) throw new AppError('conflict', row.uuid === uuid ? duplicateUuid(uuid) : duplicateName(names));
}

/** Deletes one that has no node and is not about to get one; `false` when there is none such. */
export function deleteUnmatched(db: Queryable, uuid: string): Promise<boolean> {
  return db.transaction((tx) => deleteAllocations(tx, and(eq(allocations.uuid, uuid), isNull(allocations.nodeUuid))));
}

function duplicateUuid(uuid: string | undefined): string {
  return `An allocation with UUID ${uuid} already exists.`;
}

function duplicateName(names: readonly (string | null | undefined)[]): string {
  const given = names.filter((name) => typeof name === 'string');
  return (
    `An allocation with name ${given.join(' or ')} already exists. One in state error keeps its name too, until it ` +
    'is deleted.'
  );
}
