import { and, eq, inArray, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type AllocationInsert, type AllocationRow, allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { refusingDuplicates } from '#conductor/kernel/db/violated-constraint.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import type { AllocationState } from '#conductor/model/allocation-states.ts';
import { deleteAllocations } from '#conductor/nodes/node-allocation.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Filters of `GET /v1/allocations`; an absent one does not filter. */
export interface AllocationFilter {
  readonly nodeUuid?: string | undefined;
  readonly resourceClass?: string | undefined;
  readonly state?: AllocationState | undefined;
  readonly owner?: string | undefined;
}

const sortColumns: Readonly<Record<string, PgColumn>> = {
  uuid: allocations.uuid,
  name: allocations.name,
  node_uuid: allocations.nodeUuid,
  state: allocations.state,
  last_error: allocations.lastError,
  resource_class: allocations.resourceClass,
  owner: allocations.owner,
  created_at: allocations.createdAt,
  updated_at: allocations.updatedAt,
};

/**
 * One page of allocations.
 * @throws AppError `invalid_argument` for an unknown sort key.
 */
export function listAllocations(db: Queryable, filter: AllocationFilter, page: PageRequest): Promise<AllocationRow[]> {
  const { order, after } = pageOf({
    table: sql`${allocations}`,
    uuid: allocations.uuid,
    id: allocations.id,
    sortBy: sortColumn(sortColumns, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  const same = (column: PgColumn, value: string | undefined): SQL | undefined =>
    value === undefined ? undefined : eq(column, value);
  return db
    .select()
    .from(allocations)
    .where(
      and(
        same(allocations.nodeUuid, filter.nodeUuid),
        same(allocations.resourceClass, filter.resourceClass),
        same(allocations.state, filter.state),
        same(allocations.owner, filter.owner),
        after,
      ),
    )
    .orderBy(...order)
    .limit(page.limit);
}

/**
 * By UUID or name.
 * @param project what a caller bound to one may see: the others' allocations are not there
 * @throws AppError `not_found` in Ironic's words.
 */
export async function getAllocation(db: Queryable, ident: string, project?: string): Promise<AllocationRow> {
  const [row] = await db
    .select()
    .from(allocations)
    .where(
      and(
        isUuid(ident) ? eq(allocations.uuid, ident.toLowerCase()) : eq(allocations.name, ident),
        project === undefined ? undefined : eq(allocations.owner, project),
      ),
    );
  if (!row) throw new AppError('not_found', `Allocation ${ident} could not be found.`);
  return row;
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

/** What `insertAllocations` would refuse now. @throws AppError `conflict` in its words. */
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

/** @throws AppError `not_found`. */
export async function lockAllocation(tx: Transaction, uuid: string): Promise<AllocationRow> {
  const [row] = await tx.select().from(allocations).where(eq(allocations.uuid, uuid)).for('update');
  if (!row) throw new AppError('not_found', `Allocation ${uuid} could not be found.`);
  return row;
}

/** @throws AppError `conflict` when the name is another allocation's. */
export async function describeAllocation(
  tx: Transaction,
  uuid: string,
  change: Pick<AllocationRow, 'name' | 'extra'>,
): Promise<AllocationRow> {
  const [row] = await refusingDuplicates(
    () =>
      tx
        .update(allocations)
        .set({ ...change, updatedAt: sql`now()` })
        .where(eq(allocations.uuid, uuid))
        .returning(),
    () => duplicateName([change.name]),
  );
  if (!row) throw new AppError('not_found', `Allocation ${uuid} could not be found.`);
  return row;
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
