import { sql } from 'drizzle-orm';
import type { Transaction } from '#conductor/kernel/db/query/queryable.ts';

/**
 * Returns the SQL of the number by which PostgreSQL knows a lock of Baton's.
 * @param name SQL as well: a parameter, a column, or text in quotes
 */
export const lockKey = (name: string): string => `hashtextextended('baton ' || ${name}, 0)`;

/** Waits for a lock, and holds it until the transaction ends. */
export async function lockUntilEnd(
  tx: Pick<Transaction, 'execute'>,
  name: 'discovery' | 'bond numbers' | 'site revisions',
): Promise<void> {
  await tx.execute(sql.raw(`select pg_advisory_xact_lock(${lockKey(`'${name}'`)})`));
}
