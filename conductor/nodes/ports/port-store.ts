import { and, eq, ne, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { rowsBy } from '#conductor/kernel/db/query/table-reader.ts';
import { deleteBy } from '#conductor/kernel/db/query/table-writer.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodeVifs } from '#conductor/kernel/db/schema/node-parts.ts';
import { type PortRow, portgroups, ports, type SwitchPortRow, switchPorts } from '#conductor/kernel/db/schema/port.ts';
import type { Vif } from '#conductor/networks/vifs/place-vifs.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A node's ports in order of creation. */
export const listNodePorts = rowsBy(ports, 'nodeUuid', 'id');

/** A node's port groups in order of creation. */
export const listNodePortgroups = rowsBy(portgroups, 'nodeUuid', 'id');

/** Finds the node of the machine with these MAC addresses, in lower case. */
export async function findNodeByAddresses(db: Queryable, addresses: readonly string[]): Promise<NodeRow | undefined> {
  const [uuid, ...others] = await listNodesByAddresses(db, addresses);
  // addresses of two nodes: nobody can say which one this machine is
  return uuid === undefined || others.length > 0 ? undefined : findNode(db, uuid);
}

/** Lists UUIDs of the nodes with a port of one of these MAC addresses, in lower case; in order. */
export async function listNodesByAddresses(db: Queryable, addresses: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectDistinct({ nodeUuid: ports.nodeUuid })
    .from(ports)
    .where(isAmong(ports.address, addresses))
    .orderBy(ports.nodeUuid);
  return rows.map(({ nodeUuid }) => nodeUuid);
}

/** Lists MAC addresses of all ports, in order. */
export async function listPortAddresses(db: Queryable): Promise<string[]> {
  const rows = await db.select({ address: ports.address }).from(ports).orderBy(ports.address);
  return rows.map(({ address }) => address);
}

/**
 * Finds the port at the same switch port, the case of the switch's id disregarded; none when the connection names no switch
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

/** Lists ports of other nodes at these ports of a switch, the case of its id disregarded. */
export function listOthersAt(
  db: Queryable,
  { switchId, portIds, exceptNode }: { switchId: string; portIds: readonly string[]; exceptNode: string },
): Promise<PortRow[]> {
  return db
    .select()
    .from(ports)
    .where(
      and(
        sql`lower(${ports.localLinkConnection} ->> 'switch_id') = ${switchId.toLowerCase()}`,
        isAmong(sql`${ports.localLinkConnection} ->> 'port_id'`, portIds),
        ne(ports.nodeUuid, exceptNode),
      ),
    );
}

/** Records the settings that switch ports were last given and read back with. */
export async function recordSwitchPort(
  db: Queryable,
  row: Pick<SwitchPortRow, 'portUuid' | 'network' | 'vlan' | 'bond'>,
): Promise<void> {
  const now = new Date();
  const { network, vlan, bond } = row;
  const change = { network, vlan, bond, appliedAt: now, found: null, foundBond: null, lookedAt: now };
  await db
    .insert(switchPorts)
    .values({ portUuid: row.portUuid, ...change })
    .onConflictDoUpdate({ target: switchPorts.portUuid, set: change });
}

/** Lists VIFs in the order of their attachment. */
export async function listVifs(db: Queryable, nodeUuid: string): Promise<Vif[]> {
  const rows = await vifsOf(db, nodeUuid);
  return rows.map(({ vifId, portUuid, portgroupUuid }) => ({ id: vifId, portUuid, portgroupUuid }));
}

const vifsOf = rowsBy(nodeVifs, 'nodeUuid', 'id');

export async function insertVif(db: Queryable, nodeUuid: string, { id, ...place }: Vif): Promise<void> {
  await db.insert(nodeVifs).values({ nodeUuid, vifId: id, ...place });
}

/** Deletes a VIF; `false` when the node does not have it. */
export async function deleteVif(db: Queryable, nodeUuid: string, vifId: string): Promise<boolean> {
  const rows = await db
    .delete(nodeVifs)
    .where(and(eq(nodeVifs.nodeUuid, nodeUuid), eq(nodeVifs.vifId, vifId)))
    .returning({ id: nodeVifs.id });
  return rows.length > 0;
}

/** Deletes a node's VIFs at its tear-down, where the instance takes its network with it. */
export const deleteVifs = deleteBy(nodeVifs, 'nodeUuid');

/** @throws AppError `conflict` for a port or port group that a VIF was attached to by name. */
export async function requireNoVif(tx: Transaction, nodeUuid: string, uuid: string): Promise<void> {
  const vif = (await listVifs(tx, nodeUuid)).find((each) => each.portUuid === uuid || each.portgroupUuid === uuid);
  if (!vif) return;
  throw new AppError('conflict', `VIF ${vif.id} is attached to ${uuid}: detach it first.`);
}
