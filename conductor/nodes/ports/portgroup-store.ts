import { and, eq, inArray, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { PortgroupDescription } from '#conductor/api/portgroup-description.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type PortgroupRow, portgroups } from '#conductor/kernel/db/schema/portgroup.ts';
import { refusingDuplicates } from '#conductor/kernel/db/violated-constraint.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import { ofVisibleNodes } from '#conductor/nodes/node-ownership.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { portgroupColumns } from '#conductor/nodes/ports/portgroup-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Filters of `GET /v1/portgroups`; an absent one does not filter. */
export interface PortgroupFilter {
  readonly nodeUuid?: string | undefined;
  /** Lower case. */
  readonly address?: string | undefined;
  /** Of the groups' nodes; one or several, with commas between them. */
  readonly shard?: string | undefined;
  /** What a caller bound to this project may know of. */
  readonly visibleTo?: string | undefined;
}

const sortColumns: Readonly<Record<string, PgColumn>> = {
  uuid: portgroups.uuid,
  address: portgroups.address,
  name: portgroups.name,
  node_uuid: portgroups.nodeUuid,
  mode: portgroups.mode,
  standalone_ports_supported: portgroups.standalonePortsSupported,
  created_at: portgroups.createdAt,
  updated_at: portgroups.updatedAt,
};

/**
 * One page of port groups.
 * @throws AppError `invalid_argument` for an unknown sort key.
 */
export function listPortgroups(db: Queryable, filter: PortgroupFilter, page: PageRequest): Promise<PortgroupRow[]> {
  const { order, after } = pageOf({
    table: sql`${portgroups}`,
    uuid: portgroups.uuid,
    id: portgroups.id,
    sortBy: sortColumn(sortColumns, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  const { nodeUuid, address, shard } = filter;
  const inShards = (shards: string) =>
    db
      .select({ uuid: nodes.uuid })
      .from(nodes)
      .where(inArray(nodes.shard, shards.split(',')));
  return db
    .select()
    .from(portgroups)
    .where(
      and(
        nodeUuid === undefined ? undefined : eq(portgroups.nodeUuid, nodeUuid),
        ofVisibleNodes(db, portgroups.nodeUuid, filter.visibleTo),
        address === undefined ? undefined : eq(portgroups.address, address),
        shard === undefined ? undefined : inArray(portgroups.nodeUuid, inShards(shard)),
        after,
      ),
    )
    .orderBy(...order)
    .limit(page.limit);
}

/** By UUID or name. */
export async function findPortgroup(db: Queryable, ident: string): Promise<PortgroupRow | undefined> {
  const [row] = await db
    .select()
    .from(portgroups)
    .where(isUuid(ident) ? eq(portgroups.uuid, ident.toLowerCase()) : eq(portgroups.name, ident));
  return row;
}

/**
 * By UUID or name.
 * @throws AppError `not_found` in Ironic's words.
 */
export async function getPortgroup(db: Queryable, ident: string): Promise<PortgroupRow> {
  const row = await findPortgroup(db, ident);
  if (!row) throw new AppError('not_found', `Portgroup ${ident} could not be found.`);
  return row;
}

/** @throws AppError `conflict` when uuid, address or name is another port group's. */
export async function insertPortgroup(
  tx: Transaction,
  identity: { readonly uuid: string; readonly nodeUuid: string },
  description: PortgroupDescription,
): Promise<PortgroupRow> {
  const [row] = await refusingDuplicates(
    () =>
      tx
        .insert(portgroups)
        .values({ ...identity, ...columnsOf(description) })
        .returning(),
    duplicate(identity.uuid, description),
  );
  if (!row) throw new AppError('internal', `insert port group ${identity.uuid}: the database answered no row`);
  return row;
}

/** @throws AppError `conflict` when address or name is another port group's. */
export async function updatePortgroup(tx: Transaction, uuid: string, description: PortgroupDescription): Promise<void> {
  await refusingDuplicates(
    () =>
      tx
        .update(portgroups)
        .set({ ...columnsOf(description), updatedAt: sql`now()` })
        .where(eq(portgroups.uuid, uuid)),
    duplicate(uuid, description),
  );
}

export async function deletePortgroup(tx: Transaction, uuid: string): Promise<void> {
  await tx.delete(portgroups).where(eq(portgroups.uuid, uuid));
}

function columnsOf(description: PortgroupDescription) {
  const { standalone_ports_supported: standalonePortsSupported, ...same } = description;
  return { ...same, standalonePortsSupported };
}

/** The port group as operators write it. */
export function describePortgroup(row: PortgroupRow): Record<string, unknown> {
  return Object.fromEntries(Object.entries(portgroupColumns).map(([field, column]) => [field, row[column]]));
}

function duplicate(uuid: string, { address, name }: PortgroupDescription) {
  return (constraint: string): string => {
    if (constraint.includes('address')) return `A portgroup with MAC address ${address} already exists.`;
    if (constraint.includes('name')) return `A portgroup with name ${name} already exists.`;
    return `A portgroup with UUID ${uuid} already exists.`;
  };
}
