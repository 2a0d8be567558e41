import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { AppError } from '#shared/errors/app-error.ts';

/** A column, or what takes its place. */
export type SortKey = PgColumn | SQL;

/** Which page of a list, as the API asks for it. */
export interface PageRequest {
  readonly limit: number;
  /** UUID of the last object of the page before. */
  readonly marker?: string | undefined;
  /** A field of the API, or `id` for the order of creation. */
  readonly sortKey: string;
  readonly descending: boolean;
}

/**
 * Makes the order and start of one page. Sorting goes by the column's text form with nulls first, so that one comparison
 * with the marker's row works for every column; ties go by order of creation.
 */
export function pageOf(options: {
  readonly table: SQL;
  readonly uuid: PgColumn;
  readonly id: PgColumn;
  /** `undefined` = order of creation. */
  readonly sortBy: SortKey | undefined;
  readonly descending: boolean;
  readonly marker: string | undefined;
}): { readonly order: SQL[]; readonly after: SQL | undefined } {
  const keys = [...(options.sortBy ? [sql`coalesce(${options.sortBy}::text, '')`] : []), sql`${options.id}`];
  const direction = options.descending ? sql`desc` : sql`asc`;
  const order = keys.map((key) => sql`${key} ${direction}`);
  if (options.marker === undefined) return { order, after: undefined };
  const row = sql.join(keys, sql`, `);
  const markerRow = sql`(select ${row} from ${options.table} where ${options.uuid} = ${options.marker})`;
  return { order, after: options.descending ? sql`(${row}) < ${markerRow}` : sql`(${row}) > ${markerRow}` };
}

/**
 * Returns the column that a list is sorted by; `undefined` for `id`, the order of creation.
 * @throws AppError `invalid_argument` for a field that lists are not sorted by.
 */
export function sortColumn<Key extends SortKey>(
  columns: Readonly<Record<string, Key>>,
  sortKey: string,
): Key | undefined {
  const column = Object.hasOwn(columns, sortKey) ? columns[sortKey] : undefined;
  if (column || sortKey === 'id') return column;
  const known = ['id', ...Object.keys(columns)].sort().join(', ');
  const refused = `The sort_key value ${sortKey} is an invalid field for sorting`;
  throw new AppError('invalid_argument', `${refused}; lists are sorted by one of ${known}`);
}
