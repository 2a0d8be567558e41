import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/**
 * Order and start of one page. Sorting goes by the column's text form with nulls first, so that one comparison with the
 * marker's row works for every column; ties go by order of creation.
 */
export function pageOf(options: {
  readonly table: SQL;
  readonly uuid: PgColumn;
  readonly id: PgColumn;
  /** `undefined` = order of creation. */
  readonly sortBy: PgColumn | undefined;
  readonly descending: boolean;
  readonly marker: string | undefined;
}): { readonly order: SQL[]; readonly after: SQL | undefined } {
  const key = options.sortBy ? sql`coalesce(${options.sortBy}::text, '')` : sql`''`;
  const direction = options.descending ? sql`desc` : sql`asc`;
  const order = [sql`${key} ${direction}`, sql`${options.id} ${direction}`];
  if (options.marker === undefined) return { order, after: undefined };
  const position = sql`(select ${key}, ${options.id} from ${options.table} where ${options.uuid} = ${options.marker})`;
  const after = options.descending
    ? sql`(${key}, ${options.id}) < ${position}`
    : sql`(${key}, ${options.id}) > ${position}`;
  return { order, after };
}
