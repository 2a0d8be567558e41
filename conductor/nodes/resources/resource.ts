import { getTableColumns, type SQL } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import type { ResourceFields } from '#conductor/api/values.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { columnName } from '#conductor/nodes/node-fields.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';

/** A row of any resource: `nodeUuid` where it belongs to a node. */
export interface ResourceRow {
  readonly uuid: string;
  readonly nodeUuid?: string | null;
}

/** A change that is about to be written. */
export interface ResourceChange<Row> {
  readonly before?: Row;
  /** The whole row; of one that is created what was given of it. Absent when it is deleted. */
  readonly after?: Partial<Row>;
  readonly changed: readonly string[];
  /** Locked, and not held by any conductor; absent for what is not a part of a node. */
  readonly node?: NodeRow;
  readonly caller: Caller;
}

/**
 * Everything that sets one kind of object of the API apart from the others: store, patch, list and routes follow. A field
 * is stored in the column of its name in camelCase.
 */
export interface Resource<Row extends ResourceRow> extends ResourceFields {
  readonly table: PgTable & { readonly id: PgColumn; readonly uuid: PgColumn };
  /** Noun as Ironic's messages have it, `portgroup`; default `what`. */
  readonly noun?: string;
  /** Schema of what operators write. */
  readonly description: z.ZodObject;
  /** It may be asked for by its name, too. */
  readonly named?: true;
  /** The column by which a node's history calls it; default: `uuid`. */
  readonly label?: string;
  /** Part of a constraint's name → why it refuses the row as a duplicate. */
  readonly duplicates?: Readonly<Record<string, (row: Partial<Row>) => string>>;
  /** Fields that show something else than their column. */
  readonly views?: Readonly<Record<string, (row: Row) => unknown>>;
  /** @throws AppError when it may not be changed in this way now. */
  readonly admit?: (tx: Transaction, change: ResourceChange<Row>) => Promise<void> | void;
  /** Settles what follows from what was written; the row is the caller's where there is none before. */
  readonly settle?: (after: Partial<Row>, caller: Caller, before?: Row) => Partial<Row>;
  /** Which rows a project may know of, where they are not a part of a node; absent = all. */
  readonly visible?: (project: string) => SQL | undefined;
  /** A row with what it keeps sealed, as a change finds it. @throws AppError `invalid_argument` naming the key that is missing */
  readonly open?: (secrets: Secrets, row: Row) => Row;
  /** Seals the secrets of what was written; `before` is as `open` has it. */
  readonly seal?: (secrets: Secrets, after: Partial<Row>, before?: Row) => Partial<Row>;
  /** Parts of it in other tables. */
  readonly parts?: {
    readonly load: (db: Queryable, rows: readonly Row[]) => Promise<Row[]>;
    readonly save: (tx: Transaction, uuid: string, row: Partial<Row>) => Promise<void>;
  };
}

export function columnsOf(resource: Pick<Resource<ResourceRow>, 'table'>): Record<string, PgColumn> {
  return getTableColumns(resource.table);
}

/** Writes `Volume connector` */
export function titleOf({ noun, what }: Pick<ResourceFields, 'what'> & { readonly noun?: string }): string {
  const word = noun ?? what;
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/** Makes the object as the API shows it, without links. Pure. */
export function viewRow<Row extends ResourceRow>(
  resource: Resource<Row>,
  row: Row,
  { fields = resource.all, version }: { readonly fields?: readonly string[] | undefined; readonly version: number },
): Record<string, unknown> {
  const values = row as Readonly<Record<string, unknown>>;
  const show = (field: string): unknown => {
    const view = resource.views?.[field];
    const value = view ? view(row) : values[columnName(field)];
    return value instanceof Date ? apiTime(value) : value;
  };
  return Object.fromEntries(
    fields.filter((field) => (resource.versions[field] ?? 0) <= version).map((field) => [field, show(field)]),
  );
}

/** Describes what an operator could have written to get the row. Pure. */
export function describeRow<Row extends ResourceRow>(resource: Resource<Row>, row: Row): Record<string, unknown> {
  const values = row as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(resource.description.shape).map((field) => [field, values[columnName(field)]]));
}

/** The same by columns. Pure. */
export function toColumns<Row>(description: Readonly<Record<string, unknown>>): Partial<Row> {
  const columns = Object.entries(description).map(([field, value]) => [columnName(field), value] as const);
  return Object.fromEntries(columns) as Partial<Row>;
}

/** Returns the column that a list is sorted by, by the field's name; documents are not sorted by. */
export function sortColumns(resource: {
  readonly table: PgTable;
  readonly all: readonly string[];
}): Record<string, PgColumn> {
  const columns = getTableColumns(resource.table);
  const sortable = resource.all.flatMap((field) => {
    const column = columns[columnName(field)];
    return column && column.dataType !== 'json' ? [[field, column] as const] : [];
  });
  return Object.fromEntries(sortable);
}
