import { sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';

export const capacityChannel = 'baton_capacity';

/**
 * Tells every conductor with allocations that wait, once the caller's transaction is committed, that a node may fit now.
 * Best effort: they look by themselves every period.
 */
export async function tellOfCapacity(db: Queryable): Promise<void> {
  await db.execute(
    sql`select pg_notify(${capacityChannel}, '') where exists (select from allocations where state = 'allocating')`,
  );
}
