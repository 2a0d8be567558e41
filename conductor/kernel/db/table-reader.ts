import { getTableColumns, getTableName } from 'drizzle-orm';
import { toSnakeCase } from 'drizzle-orm/casing';
import type { PgTable } from 'drizzle-orm/pg-core';

type RawRow = Readonly<Record<string, unknown>>;

/** Columns for a SELECT written by hand, and what makes the table's rows of its answer. */
export interface TableReader<Row> {
  /** `nodes.uuid AS nodes__uuid, …` */
  readonly selected: string;
  readonly read: (raw: RawRow) => Row;
  /** For a LEFT JOIN: `null` where nothing was joined. */
  readonly readJoined: (raw: RawRow) => Row | null;
}

/**
 * For what is read with every request and every step: to build a statement and to map a row of fifty columns costs
 * drizzle more than it costs PostgreSQL to answer.
 * @param primaryKey tells whether a row was joined
 */
export function tableReader<Table extends PgTable>(
  table: Table,
  primaryKey: keyof Table['$inferSelect'] & string,
): TableReader<Table['$inferSelect']> {
  const name = getTableName(table);
  const columns = Object.entries(getTableColumns(table)).map(([key, column]) => ({
    key,
    name: toSnakeCase(key),
    alias: `${name}__${toSnakeCase(key)}`,
    // dates and large numbers come as text; whatever else the drivers make is what the row has
    decode: ['timestamp', 'bigint'].some((type) => column.getSQLType().startsWith(type))
      ? (value: unknown): unknown => column.mapFromDriverValue(value)
      : undefined,
  }));
  const read = (raw: RawRow): Table['$inferSelect'] => {
    const row: Record<string, unknown> = {};
    for (const { key, alias, decode } of columns) {
      const value = raw[alias] ?? null;
      row[key] = decode && value !== null ? decode(value) : value;
    }
    return row;
  };
  const keyAlias = `${name}__${toSnakeCase(primaryKey)}`;
  return {
    selected: columns.map((column) => `${name}.${column.name} AS ${column.alias}`).join(', '),
    read,
    readJoined: (raw) => ((raw[keyAlias] ?? null) === null ? null : read(raw)),
  };
}
