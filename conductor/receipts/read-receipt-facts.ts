import { and, desc, eq, inArray, lt } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type FlowRow, flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type PortRow, switchPorts } from '#conductor/kernel/db/schema/port.ts';
import type { WipeReceipt } from '#conductor/model/receipts/receipt-fields.ts';
import { findInventory, latestInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { type InventoriedDisk, inventoriedDisks } from '#conductor/receipts/inventoried-disks.ts';

const text = z.string().nullish().catch(null);
const SystemVendor = z.object({
  system_vendor: z.object({ manufacturer: text, product_name: text, serial_number: text }).nullish().catch(null),
});

/** What the machine is, as a ramdisk last read it. */
export async function readMachine(
  db: Queryable,
  node: Pick<NodeRow, 'uuid' | 'name' | 'properties'>,
  ports: readonly PortRow[],
): Promise<{ readonly node: WipeReceipt['node']; readonly inventoried: readonly InventoriedDisk[] }> {
  const row = await findInventory(db, node.uuid);
  const vendor = SystemVendor.safeParse(row?.inventory).data?.system_vendor;
  const disks = (await latestInventory(db, node.uuid))?.toMeet ?? [];
  const textOrNull = (value: string | null | undefined): string | null => value?.trim() || null;
  return {
    node: {
      uuid: node.uuid,
      name: node.name,
      vendor: textOrNull(vendor?.manufacturer),
      model: textOrNull(vendor?.product_name),
      serial_number: textOrNull(vendor?.serial_number),
      macs: ports.map(({ address }) => address),
      inventory_at: row?.collectedAt.toISOString() ?? null,
    },
    inventoried: inventoriedDisks(disks, node.properties),
  };
}

/** Where Baton has last put the machine's switch ports, as it was read back. */
export async function readSwitchPorts(db: Queryable, ports: readonly PortRow[]): Promise<WipeReceipt['switch_ports']> {
  const uuids = ports.map(({ uuid }) => uuid);
  const rows =
    uuids.length === 0 ? [] : await db.select().from(switchPorts).where(inArray(switchPorts.portUuid, uuids));
  return ports.map((port) => {
    const row = rows.find(({ portUuid }) => portUuid === port.uuid);
    const local = (key: string): string | null => {
      const value = port.localLinkConnection[key];
      return typeof value === 'string' && value !== '' ? value : null;
    };
    const applied = row?.network === null ? 'isolated' : 'on a network';
    return {
      mac: port.address,
      switch_id: local('switch_id'),
      port_id: local('port_id'),
      switch_info: local('switch_info'),
      state: row ? applied : 'not managed',
      network: row?.network ?? null,
      vlan: row?.vlan ?? null,
      read_back_at: row?.appliedAt.toISOString() ?? null,
    };
  });
}

/** The flow that has released the instance whose disks are wiped: the one just before, if it is one. */
export async function findTeardownBefore(
  db: Queryable,
  flow: Pick<FlowRow, 'nodeUuid' | 'startedAt'>,
): Promise<string | null> {
  const [before] = await db
    .select({ uuid: flows.uuid, kind: flows.kind, state: flows.state })
    .from(flows)
    .where(and(eq(flows.nodeUuid, flow.nodeUuid), lt(flows.startedAt, flow.startedAt)))
    .orderBy(desc(flows.startedAt))
    .limit(1);
  return before?.kind === 'teardown' && before.state === 'succeeded' ? before.uuid : null;
}
