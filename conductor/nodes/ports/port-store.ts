import { and, eq, ilike, inArray, ne, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type PortInsert, type PortRow, ports, switchPorts } from '#conductor/kernel/db/schema/port.ts';
import { refusingDuplicates } from '#conductor/kernel/db/violated-constraint.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import { ofVisibleNodes } from '#conductor/nodes/node-ownership.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A node's ports in order of creation. */
export function listNodePorts(db: Queryable, nodeUuid: string): Promise<PortRow[]> {
  return db.select().from(ports).where(eq(ports.nodeUuid, nodeUuid)).orderBy(ports.id);
}

/** Filters of `GET /v1/ports` (ironic-api.md §4); an absent one does not filter. */
export interface PortFilter {
  readonly nodeUuid?: string | undefined;
  /** Lower case. */
  readonly address?: string | undefined;
  readonly portgroupUuid?: string | undefined;
  /** What a caller bound to this project may know of. */
  readonly visibleTo?: string | undefined;
  readonly descriptionContains?: string | undefined;
  /** Of the ports' nodes; one or several, with commas between them. */
  readonly shard?: string | undefined;
}

const sortColumns: Readonly<Record<string, PgColumn>> = {
  uuid: ports.uuid,
  address: ports.address,
  name: ports.name,
  node_uuid: ports.nodeUuid,
  portgroup_uuid: ports.portgroupUuid,
  description: ports.description,
  pxe_enabled: ports.pxeEnabled,
  physical_network: ports.physicalNetwork,
  is_smartnic: ports.isSmartnic,
  created_at: ports.createdAt,
  updated_at: ports.updatedAt,
};

/**
 * One page of ports.
 * @throws AppError `invalid_argument` for an unknown sort key.
 */
export function listPorts(db: Queryable, filter: PortFilter, page: PageRequest): Promise<PortRow[]> {
  const { order, after } = pageOf({
    table: sql`${ports}`,
    uuid: ports.uuid,
    id: ports.id,
    sortBy: sortColumn(sortColumns, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  return db
    .select()
    .from(ports)
    .where(and(...conditions(db, filter), after))
    .orderBy(...order)
    .limit(page.limit);
}

function conditions(db: Queryable, filter: PortFilter): (SQL | undefined)[] {
  const { nodeUuid, address, portgroupUuid, descriptionContains, shard } = filter;
  return [
    nodeUuid === undefined ? undefined : eq(ports.nodeUuid, nodeUuid),
    ofVisibleNodes(db, ports.nodeUuid, filter.visibleTo),
    address === undefined ? undefined : eq(ports.address, address),
    portgroupUuid === undefined ? undefined : eq(ports.portgroupUuid, portgroupUuid),
    descriptionContains === undefined
      ? undefined
      : ilike(ports.description, `%${descriptionContains.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`),
    shard === undefined
      ? undefined
      : inArray(
          ports.nodeUuid,
          db
            .select({ uuid: nodes.uuid })
            .from(nodes)
            .where(inArray(nodes.shard, shard.split(','))),
        ),
  ];
}

/** @throws AppError `not_found` in Ironic's words. */
export async function getPort(db: Queryable, portUuid: string): Promise<PortRow> {
  const [row] = await db.select().from(ports).where(eq(ports.uuid, portUuid));
  if (!row) throw new AppError('not_found', `Port ${portUuid} could not be found.`);
  return row;
}

/**
 * The port at the same switch port, the case of the switch's id disregarded; none when the connection names no switch
 * port.
 */
export async function findPortAtSwitchPort(
  db: Queryable,
  connection: Readonly<Record<string, unknown>>,
  exceptUuid?: string,
): Promise<PortRow | undefined> {
  const { switch_id: switchId, port_id: portId } = connection;
  if (typeof switchId !== 'string' || typeof portId !== 'string') return undefined;
  const [row] = await db
    .select()
    .from(ports)
    .where(
      and(
        sql`lower(${ports.localLinkConnection} ->> 'switch_id') = ${switchId.toLowerCase()}`,
        sql`lower(${ports.localLinkConnection} ->> 'port_id') = ${portId.toLowerCase()}`,
        exceptUuid === undefined ? undefined : ne(ports.uuid, exceptUuid),
      ),
    );
  return row;
}

/** @throws AppError `conflict` when uuid, address, name or switch port is another port's. */
export async function insertPort(db: Queryable, port: PortInsert): Promise<PortRow> {
  const [row] = await refusingDuplicates(() => db.insert(ports).values(port).returning(), duplicate(port));
  if (!row) throw new AppError('internal', `insert port ${port.uuid}: the database answered no row`);
  return row;
}

export type PortChange = Partial<Omit<PortInsert, 'id' | 'uuid' | 'createdAt' | 'updatedAt'>>;

/** @throws AppError `conflict` when address, name or switch port is another port's. */
export async function updatePort(tx: Transaction, portUuid: string, change: PortChange): Promise<void> {
  await refusingDuplicates(
    () =>
      tx
        .update(ports)
        .set({ ...change, updatedAt: sql`now()` })
        .where(eq(ports.uuid, portUuid)),
    duplicate({ uuid: portUuid, ...change }),
  );
}

export async function deletePort(db: Queryable, portUuid: string): Promise<void> {
  await db.delete(ports).where(eq(ports.uuid, portUuid));
}

function duplicate(port: Partial<Pick<PortInsert, 'uuid' | 'address' | 'name'>>) {
  return (constraint: string): string => {
    if (constraint.includes('address')) return `A port with MAC address ${port.address} already exists.`;
    if (constraint === 'one_port_per_switch_port') {
      return 'local_link_connection: another port is at this switch_id and port_id already.';
    }
    if (constraint.includes('name')) return `A port with name ${port.name} already exists.`;
    return `A port with UUID ${port.uuid} already exists.`;
  };
}

/** Where switch ports were last put and read back. */
export async function recordSwitchPort(
  db: Queryable,
  row: { readonly portUuid: string; readonly network: string | null; readonly vlan: number | null },
): Promise<void> {
  const change = { network: row.network, vlan: row.vlan, appliedAt: new Date() };
  await db
    .insert(switchPorts)
    .values({ portUuid: row.portUuid, ...change })
    .onConflictDoUpdate({ target: switchPorts.portUuid, set: change });
}
