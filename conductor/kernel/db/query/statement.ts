import { DrizzleQueryError, fillPlaceholders, is, type Placeholder, type Query, SQL, sql } from 'drizzle-orm';
import { type PgColumn, PgDialect } from 'drizzle-orm/pg-core';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';

/** A row as PostgreSQL answers it: values in the order in which the statement names its columns. */
export type RawRow = readonly unknown[];

/** A query as it goes to PostgreSQL; `name` = the server keeps the plan, and gets only the values the next time. */
export interface SentQuery {
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
  readonly rowMode: 'array';
}
export type Send = (query: SentQuery) => Promise<{ readonly rows: RawRow[] }>;

export const columnCasing = 'snake_case';
export const pgDialect = new PgDialect({ casing: columnCasing });

const sender = Symbol('send');

/** Statements asked of `db` go out by `send`: on its transaction's connection, or on any. */
export function sendBy<Db extends Queryable>(db: Db, send: Send): Db {
  return Object.assign(db, { [sender]: send });
}

/** How a statement names the values that it is asked with. */
export type Value<Values> = (name: keyof Values & string) => Placeholder;

export type Statement<Values, Row> = (db: Queryable, values: Values) => Promise<Row[]>;

/**
 * Makes a statement that is built once, when it is first asked, and sent as soon as it is called. For what every request
 * and every step asks: to build a statement costs drizzle more than it costs PostgreSQL to answer.
 */
export function statement<Values extends object, Row = RawRow>(
  build: (value: Value<Values>) => SQL,
  read: (raw: RawRow) => Row = (raw) => raw as Row,
): Statement<Values, Row> {
  let built: (Query & { readonly name?: string }) | undefined;
  return async (db, values) => {
    built ??= { ...pgDialect.sqlToQuery(build((name) => sql.placeholder(name))), ...nextName() };
    const { sql: text, params, name } = built;
    return (
      await send(db, {
        text,
        ...(name === undefined ? {} : { name }),
        values: fillPlaceholders(params, values as Record<string, unknown>),
      })
    ).map(read);
  };
}

/** Makes a statement for each list of names that it is asked for. */
export function onceFor<Name extends string, Made>(
  make: (names: readonly Name[]) => Made,
): (names: readonly Name[]) => Made {
  const made = new Map<string, Made>();
  return (names) => {
    const key = names.join();
    const known = made.get(key) ?? make(names);
    made.set(key, known);
    return known;
  };
}

/** Sends a statement of many shapes, built each time. */
export async function queryRows(db: Queryable, query: SQL): Promise<RawRow[]> {
  const { sql: text, params } = pgDialect.sqlToQuery(query);
  return send(db, { text, values: params });
}

async function send(db: Queryable, query: Omit<SentQuery, 'rowMode'>): Promise<RawRow[]> {
  const by = Reflect.get(db, sender) as Send | undefined;
  if (!by) throw new Error('a database that was not opened by openConnections');
  try {
    return (await by({ ...query, rowMode: 'array' })).rows;
  } catch (error) {
    throw new DrizzleQueryError(query.text, [], error as Error);
  }
}

/** Shapes of changes are the callers'; beyond that many PostgreSQL plans them each time. */
const maxNamed = 2_000;
let count = 0;
function nextName(): { readonly name?: string } {
  count += 1;
  return count > maxNamed ? {} : { name: `b${count}` };
}

/** From this many values on, the table is read once and each row looked up among them; below, each is looked up in it. */
export const manyValues = 100;

/**
 * Returns whether the column (text or uuid) or expression (text) is one of the values, however many: they are one parameter,
 * and the statement has one of two texts. drizzle's `inArray` makes a parameter of each, so that each number of values is
 * another statement, which is built each time and which every connection prepares and keeps; it is for few. PostgreSQL takes
 * `any(array)` for ten rows whatever there are, and would walk through a joined table for each of thousands.
 */
export function isAmong(column: PgColumn | SQL, values: readonly string[]): SQL<boolean> {
  const type = is(column, SQL) ? 'text' : column.getSQLType();
  const list = sql`select json_array_elements_text(${JSON.stringify(values)}::text::json)::${sql.raw(type)}`;
  // `is true` keeps it from becoming a join, whose order would be chosen by statistics that may be old
  if (values.length >= manyValues) return sql<boolean>`((${column} in (${list})) is true)`;
  return sql<boolean>`(${column} = any(array(${list})))`;
}

/** Returns the rows of `db.execute`, whose type drizzle leaves open. */
export function rowsOf(answer: unknown): unknown {
  return (answer as { readonly rows: unknown }).rows;
}

/**
 * Returns the value without what PostgreSQL's JSON can't hold (U+0000, halves of characters), so that words of agents and
 * machines never keep a fact from being recorded.
 */
export function storableJson<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('\u0000', '\uFFFD').toWellFormed() as T;
  if (Array.isArray(value)) return value.map((each: unknown) => storableJson(each)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storableJson(key), storableJson(inner)])) as T;
}
