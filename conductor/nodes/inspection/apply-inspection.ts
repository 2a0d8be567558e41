import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type PortRow, ports } from '#conductor/kernel/db/schema/port.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { PlaceOf } from '#conductor/networks/hear-switches.ts';
import { isWholeByBmc } from '#conductor/nodes/inspection/bmc-inventory.ts';
import { findInventory, hasDisks, recordInspected, recordShown } from '#conductor/nodes/inspection/inventory-store.ts';
import { atSwitchPort, describeMovedCable } from '#conductor/nodes/inspection/moved-cables.ts';
import { planInspection } from '#conductor/nodes/inspection/plan-inspection.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { nameOthersPort, type Ownership } from '#conductor/nodes/node-ownership.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { portResource } from '#conductor/nodes/ports/port.ts';
import { findPortAtSwitchPort, listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { insertRow, updateRow } from '#conductor/nodes/resources/resource-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';
import { counted } from '#shared/words.ts';

/** Changes by an inspection, for the operator to read. */
export interface InspectionSummary {
  /** `null`: nobody has looked for them, or the BMC shows none. */
  readonly disks: number | null;
  readonly interfaces: number;
  readonly added_ports: readonly string[];
  /** Port address → switch port, `sw1 tap3`. */
  readonly learned_switch_ports: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

/**
 * Puts an inventory to its use: stores it, fills the node's properties, adds and completes ports.
 * Run again on its own outcome it changes nothing.
 * @throws AppError `agent_error` when the inventory can't be one of a machine that has booted here.
 */
export async function applyInspection(
  tx: Transaction,
  found: {
    readonly nodeUuid: string;
    readonly inventory: JsonObject;
    /** Data that the ramdisk's collectors reported beside the inventory. */
    readonly pluginData: JsonObject;
    /** The BMC shows it, and does not show these: what is kept of the machine stays. */
    readonly byBmc?: { readonly unknown: readonly string[] };
    readonly placeOf: PlaceOf;
    readonly conductor: string;
    readonly now: Date;
  },
): Promise<InspectionSummary> {
  const { nodeUuid, conductor, now, byBmc } = found;
  const inventory = readInventory(found.inventory);
  const node = await getNode(tx, nodeUuid);
  const ports = await listNodePorts(tx, nodeUuid);
  const rootDisk = found.pluginData['root_disk'];
  const plan = planInspection(node, ports, {
    inventory: (await showsRoot(tx, found)) ? inventory : { ...inventory, disks: null },
    rootDisk: typeof rootDisk === 'object' && rootDisk !== null ? rootDisk : undefined,
    placeOf: found.placeOf,
    byBmc: byBmc !== undefined,
  });

  const warnings = [...(byBmc?.unknown ?? []), ...plan.movedCables.map(describeMovedCable), ...plan.unclear];
  const learned: Record<string, string> = {};
  const added: string[] = [];
  for (const { port, change } of plan.portChanges) {
    const connection = await freeSwitchPort(tx, { ...port, ...change }, { node, warnings });
    await updateRow(tx, portResource, port, {
      ...change,
      ...(change.localLinkConnection ? { localLinkConnection: connection } : {}),
    });
    if (change.localLinkConnection) Object.assign(learned, switchPortOf(port.address, connection));
  }
  for (const port of plan.newPorts) {
    if (await isTaken(tx, port.address, { node, warnings })) continue;
    const localLinkConnection = await freeSwitchPort(tx, port, { node, warnings });
    await insertRow(tx, portResource, { ...port, localLinkConnection, nodeUuid, uuid: randomUUID() });
    added.push(port.address);
    Object.assign(learned, switchPortOf(port.address, localLinkConnection));
  }

  const pluginData = { ...found.pluginData, ...plan.pluginData };
  await (byBmc ? recordShown : recordInspected)(tx, { nodeUuid, inventory: found.inventory, pluginData });
  await updateNode(tx, nodeUuid, { properties: plan.properties, inspectionFinishedAt: now });
  const summary: InspectionSummary = {
    disks: inventory.disks?.length ?? null,
    interfaces: inventory.interfaces.length,
    added_ports: added,
    learned_switch_ports: learned,
    warnings,
  };
  await addHistory(tx, {
    nodeUuid,
    eventType: 'inspection',
    event: `${byBmc ? 'inspected by its BMC' : 'inspected'}: ${describe(node, plan.properties, summary)}`,
    conductor,
  });
  return summary;
}

/** Returns whether its disks say which is the root disk: a BMC's do until a ramdisk has seen them, and where it shows all. */
async function showsRoot(
  tx: Transaction,
  { nodeUuid, inventory, byBmc }: Pick<Parameters<typeof applyInspection>[1], 'nodeUuid' | 'inventory' | 'byBmc'>,
): Promise<boolean> {
  if (!byBmc) return true;
  const kept = await findInventory(tx, nodeUuid);
  return isWholeByBmc(inventory, 'disks') && !(kept && hasDisks(kept.inventory));
}

function readInventory(inventory: JsonObject): InventoryDocument {
  const parsed = InventoryDocument.safeParse(inventory);
  if (parsed.success) return parsed.data;
  throw new AppError('agent_error', 'the inventory does not have the form of an inventory', { cause: parsed.error });
}

/** Remarks for those who may read of the node. */
interface Remarks {
  readonly node: Ownership;
  readonly warnings: string[];
}

/** Returns the connection, or none where another port has it: two machines behind one switch port would move each other. */
async function freeSwitchPort(
  tx: Transaction,
  port: Pick<PortRow, 'address' | 'localLinkConnection'> & { readonly uuid?: string },
  { node, warnings }: Remarks,
): Promise<JsonObject> {
  const other = await findPortAtSwitchPort(tx, port.localLinkConnection, port.uuid);
  if (!other) return port.localLinkConnection;
  warnings.push(
    `${port.address} says that it is at ${atSwitchPort(port.localLinkConnection)}, where ` +
      `${nameOthersPort(node, `port ${other.uuid} (${other.address})`, other.nodeUuid)} is: not recorded`,
  );
  return {};
}

async function isTaken(tx: Transaction, address: string, { node, warnings }: Remarks): Promise<boolean> {
  const [other] = await tx.select().from(ports).where(eq(ports.address, address));
  if (other) warnings.push(`${address} is ${nameOthersPort(node, `port ${other.uuid}`, other.nodeUuid)}: not added`);
  return other !== undefined;
}

function switchPortOf(address: string, connection: JsonObject): Record<string, string> {
  const { switch_id: switchId, port_id: portId } = connection;
  return typeof switchId === 'string' ? { [address]: `${switchId} ${String(portId)}` } : {};
}

function describe(node: NodeRow, properties: JsonObject, summary: InspectionSummary): string {
  const changed = Object.entries(properties)
    .filter(([name, value]) => node.properties[name] !== value)
    .map(([name, value]) => `${name} ${String(value)}`);
  return [
    `${counted(summary.interfaces, 'network card')}, ${summary.disks === null ? 'no list of disks' : counted(summary.disks, 'disk')}`,
    ...(changed.length > 0 ? [`properties: ${changed.join(', ')}`] : []),
    ...summary.added_ports.map((address) => `port ${address} added`),
    ...Object.entries(summary.learned_switch_ports).map(([address, at]) => `${address} is at switch port ${at}`),
    ...summary.warnings,
  ].join('; ');
}
