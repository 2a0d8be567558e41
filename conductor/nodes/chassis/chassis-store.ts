import { eq, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type ChassisRow, chassis } from '#conductor/kernel/db/schema/chassis.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { refusingDuplicates } from '#conductor/kernel/db/violated-constraint.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import type { ChassisDescription } from '#conductor/nodes/chassis/chassis-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

const sortColumns: Readonly<Record<string, PgColumn>> = {
  uuid: chassis.uuid,
  description: chassis.description,
  created_at: chassis.createdAt,
  updated_at: chassis.updatedAt,
};

/**
 * One page of chassis.
 * @throws AppError `invalid_argument` for an unknown sort key.
 */
export function listChassis(db: Queryable, page: PageRequest): Promise<ChassisRow[]> {
  const { order, after } = pageOf({
    table: sql`${chassis}`,
    uuid: chassis.uuid,
    id: chassis.id,
    sortBy: sortColumn(sortColumns, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  return db
    .select()
    .from(chassis)
    .where(after)
    .orderBy(...order)
    .limit(page.limit);
}

/** @throws AppError `not_found` in Ironic's words. */
export async function getChassis(db: Queryable, uuid: string): Promise<ChassisRow> {
  const [row] = await db.select().from(chassis).where(eq(chassis.uuid, uuid));
  if (!row) throw new AppError('not_found', `Chassis ${uuid} could not be found.`);
  return row;
}

/**
 * Keeps the chassis that a node is put into from being deleted until the transaction ends.
 * @throws AppError `invalid_argument` when it is not there: the fault is the node's description.
 */
export async function requireChassis(tx: Transaction, uuid: string): Promise<void> {
  const rows = await tx.select({ uuid: chassis.uuid }).from(chassis).where(eq(chassis.uuid, uuid)).for('key share');
  if (rows.length === 0) throw new AppError('invalid_argument', `Chassis ${uuid} could not be found.`);
}

/** @throws AppError `conflict` when the uuid is another chassis's. */
export async function insertChassis(db: Queryable, uuid: string, description: ChassisDescription): Promise<ChassisRow> {
  const [row] = await refusingDuplicates(
    () =>
      db
        .insert(chassis)
        .values({ uuid, ...description })
        .returning(),
    () => `A chassis with UUID ${uuid} already exists.`,
  );
  if (!row) throw new AppError('internal', `insert chassis ${uuid}: the database answered no row`);
  return row;
}

export async function updateChassis(tx: Transaction, uuid: string, description: ChassisDescription): Promise<void> {
  await tx
    .update(chassis)
    .set({ ...description, updatedAt: sql`now()` })
    .where(eq(chassis.uuid, uuid));
}

/** The row, locked until the transaction ends. @throws AppError `not_found`. */
export async function lockChassis(tx: Transaction, uuid: string): Promise<ChassisRow> {
  const [row] = await tx.select().from(chassis).where(eq(chassis.uuid, uuid)).for('update');
  if (!row) throw new AppError('not_found', `Chassis ${uuid} could not be found.`);
  return row;
}

export async function deleteChassis(tx: Transaction, uuid: string): Promise<void> {
  await tx.delete(chassis).where(eq(chassis.uuid, uuid));
}

export async function hasNodes(tx: Transaction, uuid: string): Promise<boolean> {
  const rows = await tx.select({ uuid: nodes.uuid }).from(nodes).where(eq(nodes.chassisUuid, uuid)).limit(1);
  return rows.length > 0;
}
