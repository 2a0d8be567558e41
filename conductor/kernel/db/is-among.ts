import { is, SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';

/** From so many values on, the table is read once and each row looked up among them; below, each is looked up in it. */
export const manyValues = 100;

/**
 * Whether the column (text or uuid) or expression (text) is one of the values, however many: they are one parameter, and
 * the statement has one of two texts. drizzle's `inArray` makes a parameter of each, so that each number of values is another
 * statement, which is built each time and which every connection prepares and keeps; it is for few. PostgreSQL takes
 * `any(array)` for ten rows whatever there are, and would walk through a joined table for each of thousands.
 */
export function isAmong(column: PgColumn | SQL, values: readonly string[]): SQL<boolean> {
  const type = is(column, SQL) ? 'text' : column.getSQLType();
  const list = sql`select json_array_elements_text(${JSON.stringify(values)}::text::json)::${sql.raw(type)}`;
  // `is true` keeps it from becoming a join, whose order would be chosen by statistics that may be old
  if (values.length >= manyValues) return sql<boolean>`((${column} in (${list})) is true)`;
  return sql<boolean>`(${column} = any(array(${list})))`;
}
