import { getTableColumns, getTableName, sql } from 'drizzle-orm';
import { toSnakeCase } from 'drizzle-orm/casing';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { type RawRow, statement } from '#conductor/kernel/db/query/statement.ts';

/** Columns for a statement written by hand, and what makes the table's rows of its answer. */
export interface TableReader<Row> {
  /** `nodes.uuid, nodes.name, …` */
  readonly selected: string;
  /** How many they are. */
  readonly width: number;
  /** @param from where they begin in the answer; default 0 */
  readonly read: (raw: RawRow, from?: number) => Row;
  /** For a LEFT JOIN: `null` where nothing was joined. */
  readonly readJoined: (raw: RawRow, from: number) => Row | null;
}

/**
 * Makes a reader of rows that every request and every step asks for: mapping a row of fifty columns costs drizzle more than
 * answering costs PostgreSQL.
 * @param primaryKey shows whether a row was joined
 */
export function tableReader<Table extends PgTable>(
  table: Table,
  primaryKey: keyof Table['$inferSelect'] & string,
): TableReader<Table['$inferSelect']> {
  const name = getTableName(table);
  const columns = Object.entries(getTableColumns(table)).map(([key, column]) => ({
    key,
    selected: `${name}.${toSnakeCase(key)}`,
    // dates and large numbers come as text; whatever else the drivers make is what the row has
    decode: ['timestamp', 'bigint'].some((type) => column.getSQLType().startsWith(type))
      ? (value: unknown): unknown => column.mapFromDriverValue(value)
      : undefined,
  }));
  const read = (raw: RawRow, from = 0): Table['$inferSelect'] => {
    const row: Record<string, unknown> = {};
    for (const [index, { key, decode }] of columns.entries()) {
      const value = raw[from + index] ?? null;
      row[key] = decode && value !== null ? decode(value) : value;
    }
    return row;
  };
  const keyIndex = columns.findIndex(({ key }) => key === primaryKey);
  return {
    selected: columns.map(({ selected }) => selected).join(', '),
    width: columns.length,
    read,
    readJoined: (raw, from) => ((raw[from + keyIndex] ?? null) === null ? null : read(raw, from)),
  };
}

/** Reads a table's rows by one of their columns, `uuid` or text. */
export function rowsBy<Table extends PgTable>(
  table: Table,
  column: keyof Table['$inferSelect'] & string,
  orderBy: keyof Table['$inferSelect'] & string,
): (db: Queryable, value: string) => Promise<Table['$inferSelect'][]> {
  const { selected, read } = tableReader(table, column);
  const [by, order] = [column, orderBy].map((key) => sql.identifier(toSnakeCase(key)));
  const select = statement<{ value: string }, Table['$inferSelect']>(
    (value) => sql`SELECT ${sql.raw(selected)} FROM ${table} WHERE ${by} = ${value('value')} ORDER BY ${order}`,
    (raw) => read(raw),
  );
  return (db, value) => select(db, { value });
}
