import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';

interface Plan {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

/** Runs the statement, and counts the blocks (8 KiB) that PostgreSQL looks at for it: what it costs, however fast a machine is. */
export async function readBlocks(db: Queryable, statement: SQL | SQLWrapper): Promise<number> {
  const answer = await db.execute(sql`explain (analyze, buffers, timing off, format json) ${statement}`);
  const [row] = rowsOf(answer) as { readonly 'QUERY PLAN': readonly { readonly Plan: Plan }[] }[];
  const plan = row?.['QUERY PLAN'][0]?.Plan;
  if (!plan) throw new Error('PostgreSQL explains nothing');
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}
