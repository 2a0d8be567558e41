import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { refusingDuplicates } from '#conductor/kernel/db/faults.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import { ofVisibleNodes } from '#conductor/nodes/node-ownership.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import {
  columnsOf,
  type Resource,
  type ResourceRow,
  sortColumns,
  titleOf,
} from '#conductor/nodes/resources/resource.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Which rows of a resource; what is absent does not filter. */
export interface RowFilter {
  /** Values by column. */
  readonly where?: Readonly<Record<string, string | undefined>>;
  /** Shards of the nodes that they are parts of; one or several, with commas between them. */
  readonly shard?: string | undefined;
  /** Conductor groups of those nodes; one or several, with commas between them. */
  readonly conductorGroup?: string | undefined;
  /** The project whose caller asks, and may know only of its own nodes. */
  readonly visibleTo?: string | undefined;
}

/**
 * One page of rows.
 * @throws AppError `invalid_argument` for an unknown sort key.
 */
export async function listRows<Row extends ResourceRow>(
  db: Queryable,
  resource: Resource<Row>,
  filter: RowFilter,
  page: PageRequest,
): Promise<Row[]> {
  const { table } = resource;
  const { order, after } = pageOf({
    table: sql`${table}`,
    uuid: table.uuid,
    id: table.id,
    sortBy: sortColumn(sortColumns(resource), page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  return select(db, resource, and(...conditions(db, resource, filter), after), (query) =>
    query.orderBy(...order).limit(page.limit),
  );
}

function conditions<Row extends ResourceRow>(
  db: Queryable,
  resource: Resource<Row>,
  { where = {}, shard, conductorGroup, visibleTo }: RowFilter,
): (SQL | undefined)[] {
  const columns = columnsOf(resource);
  const column = (name: string): PgColumn => {
    const found = columns[name];
    if (!found) throw new AppError('internal', `list of ${resource.what}: it has no column ${name}`);
    return found;
  };
  const ofNodesIn = (group: PgColumn, names: string) =>
    inArray(
      column('nodeUuid'),
      db
        .select({ uuid: nodes.uuid })
        .from(nodes)
        .where(inArray(group, names.split(','))),
    );
  return [
    ...Object.entries(where).map(([name, value]) => (value === undefined ? undefined : eq(column(name), value))),
    shard === undefined ? undefined : ofNodesIn(nodes.shard, shard),
    conductorGroup === undefined ? undefined : ofNodesIn(nodes.conductorGroup, conductorGroup),
    columns['nodeUuid'] ? ofVisibleNodes(db, columns['nodeUuid'], visibleTo) : undefined,
    visibleTo === undefined ? undefined : resource.visible?.(visibleTo),
  ];
}

/** Finds a row by UUID, or by name where it has one; with a project only a row that it may know of. */
export async function findRow<Row extends ResourceRow>(
  db: Queryable,
  resource: Resource<Row>,
  ident: string,
  visibleTo?: string,
): Promise<Row | undefined> {
  const isNamed = resource.named && !isUuid(ident);
  const isIt = isNamed ? sql`${columnsOf(resource)['name']} = ${ident}` : eq(resource.table.uuid, ident.toLowerCase());
  const [row] = await select(
    db,
    resource,
    and(isIt, visibleTo === undefined ? undefined : resource.visible?.(visibleTo)),
  );
  return row;
}

/** @throws AppError `not_found` in Ironic's words. */
export async function getRow<Row extends ResourceRow>(
  db: Queryable,
  resource: Resource<Row>,
  ident: string,
  visibleTo?: string,
): Promise<Row> {
  const row = await findRow(db, resource, ident, visibleTo);
  if (!row) throw new AppError('not_found', `${titleOf(resource)} ${ident} could not be found.`);
  return row;
}

/** Locks the row until the transaction ends. @throws AppError `not_found`. */
export async function lockRow<Row extends ResourceRow>(
  tx: Transaction,
  resource: Resource<Row>,
  uuid: string,
): Promise<Row> {
  const isIt = eq(resource.table.uuid, uuid);
  const [row] = await select(tx, resource, isIt, (query) => query.for('update'));
  if (!row) throw new AppError('not_found', `${titleOf(resource)} ${uuid} could not be found.`);
  return row;
}

/** @throws AppError `conflict` when the uuid, or what else is unique, is another row's. */
export async function insertRow<Row extends ResourceRow>(
  tx: Transaction,
  resource: Resource<Row>,
  row: Partial<Row> & { readonly uuid: string },
): Promise<Row> {
  await refusingDuplicates(() => tx.insert(resource.table).values(ownColumns(resource, row)), duplicate(resource, row));
  await resource.parts?.save(tx, row.uuid, row);
  return getRow(tx, resource, row.uuid);
}

/** @throws AppError `conflict` when what is unique of it is another row's. */
export async function updateRow<Row extends ResourceRow>(
  tx: Transaction,
  resource: Resource<Row>,
  before: Row,
  change: Partial<Row>,
): Promise<void> {
  const { uuid } = before;
  const set = { ...ownColumns(resource, change), updatedAt: sql`now()` };
  await refusingDuplicates(
    () => tx.update(resource.table).set(set).where(eq(resource.table.uuid, uuid)),
    duplicate(resource, { ...before, ...change }),
  );
  await resource.parts?.save(tx, uuid, change);
}

export async function deleteRow<Row extends ResourceRow>(
  db: Queryable,
  resource: Resource<Row>,
  uuid: string,
): Promise<void> {
  await db.delete(resource.table).where(eq(resource.table.uuid, uuid));
}

async function select<Row extends ResourceRow>(
  db: Queryable,
  resource: Resource<Row>,
  where: SQL | undefined,
  more: (query: SelectQuery) => PromiseLike<unknown> = (query) => query,
): Promise<Row[]> {
  const rows = (await more(db.select().from<PgTable>(resource.table).where(where).$dynamic())) as Row[];
  return resource.parts ? resource.parts.load(db, rows) : rows;
}

type SelectQuery = ReturnType<ReturnType<typeof plainSelect>['$dynamic']>;
const plainSelect = (db: Queryable, table: PgTable) => db.select().from(table);

function ownColumns<Row extends ResourceRow>(resource: Resource<Row>, values: Partial<Row>): Record<string, unknown> {
  const columns = columnsOf(resource);
  return Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(columns, name)));
}

function duplicate<Row extends ResourceRow>(resource: Resource<Row>, row: Partial<Row>) {
  return (constraint: string): string => {
    const known = Object.entries(resource.duplicates ?? {}).find(([part]) => constraint.includes(part));
    return known?.[1](row) ?? `A ${resource.noun ?? resource.what} with UUID ${row.uuid} already exists.`;
  };
}
