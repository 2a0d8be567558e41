import { eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { type PortRow, ports, switchPorts } from '#conductor/db/schema/port.ts';

/** A node's ports in order of creation. */
export function listNodePorts(db: Queryable, nodeUuid: string): Promise<PortRow[]> {
  return db.select().from(ports).where(eq(ports.nodeUuid, nodeUuid)).orderBy(ports.id);
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
