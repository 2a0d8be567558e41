import { and, asc, count, desc, eq, ilike, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { drivers } from '#conductor/drivers/table/driver-table.ts';
import { conductorOfNode } from '#conductor/kernel/conductors/node-conductor.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { pageOf, type SortKey, sortColumn } from '#conductor/kernel/page-of.ts';
import { type InterfaceKind, interfaceKinds, type NodeField, nodeFieldVersions } from '#conductor/model/node-words.ts';
import { type ProvisionState, provisionStates } from '#conductor/model/provision-states.ts';
import { supportedInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { visibleNodes } from '#conductor/nodes/node-ownership.ts';
import { sortColumns } from '#conductor/nodes/resources/resource.ts';
import { readShownNodes, type ShownNode } from '#conductor/nodes/views/node-surroundings.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Filters of `GET /v1/nodes` (ironic-api.md §3.5); an absent one does not filter. */
export interface NodeFilter {
  readonly uuid?: string | undefined;
  readonly chassisUuid?: string | undefined;
  readonly instanceUuid?: string | undefined;
  readonly instanceName?: string | undefined;
  /** Has an `instance_uuid`, or has none. */
  readonly associated?: boolean | undefined;
  readonly maintenance?: boolean | undefined;
  readonly retired?: boolean | undefined;
  readonly provisionState?: string | undefined;
  readonly driver?: string | undefined;
  readonly resourceClass?: string | undefined;
  readonly fault?: string | undefined;
  readonly conductorGroup?: string | undefined;
  /** The one that is at work on the node, or named for it; `timeoutMs` as `isAlive` has it. */
  readonly conductor?: { readonly hostname: string; readonly timeoutMs: number } | undefined;
  readonly owner?: string | undefined;
  readonly lessee?: string | undefined;
  /** Owner or lessee. */
  readonly project?: string | undefined;
  /** The project whose caller asks, and may know only of its own nodes. */
  readonly visibleTo?: string | undefined;
  readonly descriptionContains?: string | undefined;
  /** One or several, with commas between them. */
  readonly shard?: string | undefined;
  readonly sharded?: boolean | undefined;
}

/** Ironic sorts nodes by any column that is no document; some are none of this table's. */
const sortable: Readonly<Record<string, SortKey>> = {
  ...Object.fromEntries(interfaceKinds.map((kind) => [`${kind}_interface`, shownInterface(kind)])),
  reservation: sql`(select holder from ${nodeLeases} where ${nodeLeases.nodeUuid} = ${nodes.uuid}
    and ${nodeLeases.expiresAt} > now())`,
  // no node has one
  parent_node: sql`null`,
  ...sortColumns({ table: nodes, all: Object.keys(nodeFieldVersions).filter((name) => name !== 'deploy_interface') }),
};

/** Selects an interface as `interfaceOf` does. */
function shownInterface(kind: InterfaceKind): SQL {
  const chosen = kind === 'deploy' ? sql`${nodes.deployInterface}` : sql`${nodes.interfaces} ->> ${kind}`;
  const defaults = drivers.map(({ name }) => sql`when ${name} then ${supportedInterfaces(name, kind)[0] ?? ''}`);
  return sql`coalesce(${chosen}, case ${nodes.driver} ${sql.join(defaults, sql` `)} end)`;
}

/**
 * One page of nodes.
 * @throws AppError `invalid_argument` for an unknown provision state or sort key.
 */
export function listNodes(
  db: Queryable,
  filter: NodeFilter,
  page: {
    readonly limit: number;
    readonly marker?: string | undefined;
    /** A field of the API, or `id` for the order of creation. */
    readonly sortKey: string;
    readonly descending: boolean;
  },
  /** Fields that will be shown; all when absent. */
  fields?: readonly NodeField[],
): Promise<ShownNode[]> {
  const { order, after } = pageOf({
    table: sql`${nodes}`,
    uuid: nodes.uuid,
    id: nodes.id,
    sortBy: sortColumn(sortable, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  const where = and(...conditions(filter), after) ?? sql`true`;
  const rest = sql`WHERE ${where} ORDER BY ${sql.join(order, sql`, `)} LIMIT ${page.limit}`;
  return readShownNodes(db, rest, fields);
}

function conditions(filter: NodeFilter): (SQL | undefined)[] {
  const same = (column: PgColumn, value: string | boolean | undefined): SQL | undefined =>
    value === undefined ? undefined : eq(column, value);
  return [
    same(nodes.uuid, filter.uuid),
    same(nodes.chassisUuid, filter.chassisUuid),
    same(nodes.instanceUuid, filter.instanceUuid),
    same(nodes.instanceName, filter.instanceName),
    present(nodes.instanceUuid, filter.associated),
    same(nodes.maintenance, filter.maintenance),
    same(nodes.retired, filter.retired),
    same(nodes.provisionState, provisionStateOf(filter.provisionState)),
    same(nodes.driver, filter.driver),
    same(nodes.resourceClass, filter.resourceClass),
    same(nodes.fault, filter.fault),
    same(nodes.conductorGroup, filter.conductorGroup),
    filter.conductor && sql`${conductorOfNode(filter.conductor.timeoutMs)} = ${filter.conductor.hostname}`,
    same(nodes.owner, filter.owner),
    same(nodes.lessee, filter.lessee),
    visibleNodes(filter.visibleTo),
    filter.project === undefined ? undefined : or(eq(nodes.owner, filter.project), eq(nodes.lessee, filter.project)),
    filter.descriptionContains === undefined
      ? undefined
      : ilike(nodes.description, `%${filter.descriptionContains.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`),
    filter.shard === undefined ? undefined : or(...filter.shard.split(',').map((shard) => eq(nodes.shard, shard))),
    present(nodes.shard, filter.sharded),
  ];
}

function present(column: PgColumn, wanted: boolean | undefined): SQL | undefined {
  if (wanted === undefined) return undefined;
  return wanted ? isNotNull(column) : isNull(column);
}

function provisionStateOf(name: string | undefined): ProvisionState | undefined {
  if (name === undefined) return undefined;
  const state = provisionStates.find((each) => each === name);
  if (!state) {
    throw new AppError(
      'invalid_argument',
      `Provision state "${name}" is not valid; the states are ${provisionStates.join(', ')}`,
    );
  }
  return state;
}

/** Counts nodes by provision state, the most first. @param project only nodes that a caller bound to it may know of */
export function countNodes(db: Queryable, project: string | undefined) {
  return db
    .select({
      state: nodes.provisionState,
      nodes: count(),
      inMaintenance: sql<number>`count(*) filter (where ${nodes.maintenance})::int`,
    })
    .from(nodes)
    .where(visibleNodes(project))
    .groupBy(nodes.provisionState)
    .orderBy(desc(count()), nodes.provisionState);
}

/** Returns how many nodes each shard has, by name; those without one are together under `null`, at the end. */
export function countShards(db: Queryable): Promise<{ readonly shard: string | null; readonly count: number }[]> {
  return db.select({ shard: nodes.shard, count: count() }).from(nodes).groupBy(nodes.shard).orderBy(asc(nodes.shard));
}
