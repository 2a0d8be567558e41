import { and, eq, inArray, isNotNull, ne, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { type PortgroupRow, type PortRow, portgroups, ports } from '#conductor/kernel/db/schema/port.ts';
import { lockUntilEnd } from '#conductor/kernel/db/session/lock-key.ts';
import { bondOf } from '#conductor/networks/bonds.ts';
import { findSwitch, type Networks, type SwitchEntry } from '#conductor/networks/networks-file.ts';
import { chooseBondNumber, isBondedBy } from '#conductor/networks/place-bonds.ts';

/** Lists the node's port groups with the numbers that their bonds have, or would have, on its switches. */
export async function listPortGroups(db: Queryable, networks: Networks, nodeUuid: string): Promise<PortgroupRow[]> {
  const ofNode = eq(portgroups.nodeUuid, nodeUuid);
  const groups = await db.select().from(portgroups).where(ofNode).orderBy(portgroups.id);
  if (groups.length === 0) return [];
  const members = await db.select().from(ports).where(eq(ports.nodeUuid, nodeUuid));
  const chosen: PortgroupRow[] = [];
  for (const group of groups) {
    const switches = switchesOf(group, members, networks);
    const range = isBondedBy(group, switches) && switches.find(({ bondNumbers }) => bondNumbers)?.bondNumbers;
    if (!range) chosen.push(group);
    else {
      const taken = await listTaken(db, switches, group.uuid);
      for (const { bondNumber } of chosen) if (bondNumber !== null) taken.add(bondNumber);
      chosen.push({ ...group, bondNumber: chooseBondNumber(range, taken, group.bondNumber) });
    }
  }
  return chosen;
}

/** The same, and from now on no other group gets these numbers. */
export async function reserveBondNumbers(
  tx: Transaction,
  networks: Networks,
  nodeUuid: string,
): Promise<PortgroupRow[]> {
  if (networks.switches.every(({ bondNumbers }) => !bondNumbers)) {
    return listPortGroups(tx, networks, nodeUuid);
  }
  await lockUntilEnd(tx, 'bond numbers');
  const groups = await listPortGroups(tx, networks, nodeUuid);
  for (const { uuid, bondNumber } of groups) {
    await tx.update(portgroups).set({ bondNumber }).where(eq(portgroups.uuid, uuid));
  }
  return groups;
}

/** Lists the switches and their pairs, since a number of MLAG is in use on both. */
function switchesOf(group: PortgroupRow, members: readonly PortRow[], networks: Networks): SwitchEntry[] {
  const own = members
    .filter(({ portgroupUuid }) => portgroupUuid === group.uuid)
    .flatMap(({ localLinkConnection: { switch_id: switchId, port_id: portId } }) => {
      const entry = findSwitch(networks, String(switchId));
      // one that is at a bond of the operator's needs none of Baton's
      return entry && bondOf(entry, String(portId)) === undefined ? [entry] : [];
    });
  return [...new Set(own.flatMap((entry) => [entry, findSwitch(networks, entry.pair ?? '') ?? entry]))];
}

async function listTaken(db: Queryable, switches: readonly SwitchEntry[], exceptGroup: string): Promise<Set<number>> {
  const ids = switches.map(({ switchId }) => switchId.toLowerCase());
  const atSwitches = db
    .select({ uuid: ports.portgroupUuid })
    .from(ports)
    .where(and(isAmong(sql`lower(${ports.localLinkConnection} ->> 'switch_id')`, ids), isNotNull(ports.portgroupUuid)));
  const rows = await db
    .select({ number: portgroups.bondNumber })
    .from(portgroups)
    .where(
      and(inArray(portgroups.uuid, atSwitches), ne(portgroups.uuid, exceptGroup), isNotNull(portgroups.bondNumber)),
    );
  return new Set(rows.flatMap(({ number }) => number ?? []));
}
