import { getTableColumns, getTableName, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { toSnakeCase } from 'drizzle-orm/casing';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { onceFor, type RawRow, statement } from '#conductor/kernel/db/query/statement.ts';

/** Writes rows by statements that are built once for each set of columns. */
export interface TableWriter<Row, Change> {
  /** All with values for the same columns; what is absent takes its default. */
  readonly insert: (db: Queryable, rows: readonly Row[]) => Promise<void>;
  /** Changes the row with this key, and answers what `returning` names of it; what is `undefined` stays as it is. */
  readonly update: (db: Queryable, key: string, change: Change) => Promise<RawRow[]>;
}

type Values = Readonly<Record<string, unknown>>;
const theKey = 'the key';

/**
 * @param primaryKey by which rows are changed
 * @param computed of a change: what is not a column, and what it sets
 * @param only of a change: what is not a column, and which rows it changes
 * @param also what every change sets besides
 */
export function tableWriter<Table extends PgTable, Computed = unknown, Only = unknown>(
  table: Table,
  options: {
    readonly primaryKey: keyof Table['$inferSelect'] & string;
    readonly computed?: Readonly<Record<keyof Computed, (value: Placeholder) => SQL>>;
    readonly only?: Readonly<Record<keyof Only, (value: Placeholder) => SQL>>;
    readonly also?: SQL;
    readonly returning?: SQL;
  },
): TableWriter<Table['$inferInsert'], Partial<Table['$inferInsert'] & Computed> & Only> {
  const { primaryKey, also, returning } = options;
  const name = getTableName(table);
  const columns = getTableColumns(table);
  const computed = (options.computed ?? {}) as Readonly<Record<string, (value: Placeholder) => SQL>>;
  const only = (options.only ?? {}) as Readonly<Record<string, (value: Placeholder) => SQL>>;
  const column = (key: string): SQL => sql`${sql.identifier(toSnakeCase(key))}`;
  const insertInto = onceFor((keys: readonly string[]) => {
    const list = sql.join(keys.map(column), sql`, `);
    const row = sql.raw(`null::${name}`);
    return statement<Values>(
      (value) => sql`
        insert into ${table} (${list}) select ${list} from jsonb_populate_recordset(${row}, ${value('rows')}::text::jsonb)`,
    );
  });
  const insertOne = onceFor((keys: readonly string[]) => {
    const list = sql.join(keys.map(column), sql`, `);
    return statement<Values>(
      (value) => sql`insert into ${table} (${list}) values (${sql.join(keys.map(value), sql`, `)})`,
    );
  });
  const update = onceFor((keys: readonly string[]) =>
    statement<Values>((value) => {
      const set = keys
        .filter((key) => !only[key])
        .map((key) => computed[key]?.(value(key)) ?? sql`${column(key)} = ${value(key)}`);
      const where = keys.flatMap((key) => only[key]?.(value(key)) ?? []);
      return sql`update ${table} set ${sql.join([...set, ...(also ? [also] : [])], sql`, `)}
        where ${sql.join([sql`${column(primaryKey)} = ${value(theKey)}`, ...where], sql` and `)} ${returning ? sql`returning ${returning}` : sql``}`;
    }),
  );
  const stored = (key: string, value: unknown): unknown =>
    value === null || !columns[key] ? value : columns[key].mapToDriverValue(value);
  return {
    insert: async (db, rows) => {
      const [first] = rows;
      if (!first) return;
      const keys = Object.keys(columns).filter((key) => Reflect.get(first, key) !== undefined);
      if (rows.length === 1) {
        await insertOne(keys)(db, Object.fromEntries(keys.map((key) => [key, stored(key, Reflect.get(first, key))])));
        return;
      }
      const records = rows.map((row) =>
        Object.fromEntries(keys.map((key) => [toSnakeCase(key), Reflect.get(row, key)])),
      );
      await insertInto(keys)(db, { rows: JSON.stringify(records) });
    },
    update: async (db, key, change) => {
      const changes = Object.entries(change).filter(([, value]) => value !== undefined);
      changes.sort(([one], [other]) => (one < other ? -1 : 1));
      const values = Object.fromEntries(changes.map(([each, value]) => [each, stored(each, value)]));
      return update(Object.keys(values))(db, { ...values, [theKey]: key });
    },
  };
}

/** Deletes a table's rows by one of their columns, `uuid` or text, with a statement that is built once. */
export function deleteBy<Table extends PgTable>(
  table: Table,
  column: keyof Table['$inferSelect'] & string,
): (db: Queryable, value: string) => Promise<void> {
  const remove = statement<{ value: string }>(
    (value) => sql`delete from ${table} where ${sql.identifier(toSnakeCase(column))} = ${value('value')}`,
  );
  return async (db, value) => {
    await remove(db, { value });
  };
}
