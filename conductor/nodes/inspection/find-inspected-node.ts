import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { addressUrl } from '#conductor/drivers/address-url.ts';
import { addressFields } from '#conductor/drivers/table/bmc-address.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { reportSharedAddresses } from '#conductor/nodes/ports/report-shared-addresses.ts';

/** Identity of a machine that reports its inspection. */
export interface InspectedMachine {
  /** Lower case. */
  readonly addresses: readonly string[];
  readonly bmcAddresses: readonly string[];
  readonly nodeUuid?: string | undefined;
}

/**
 * Finds the node under inspection that this machine is: by its ports' MAC addresses, else by its BMC's address, which is
 * all that is known of a node without ports. Where it may be one of several, that is told in the history of each.
 */
export async function findInspectedNode(
  context: Pick<NodesContext, 'db' | 'config' | 'log'>,
  machine: InspectedMachine,
): Promise<NodeRow | undefined> {
  const { db } = context;
  const byPort = await nodesWithPorts(db, machine.addresses);
  const candidates = byPort.length > 0 ? byPort : await nodesWithBmc(db, machine.bmcAddresses, isInspected());
  const [uuid, ...others] =
    machine.nodeUuid === undefined ? candidates : candidates.filter((each) => each === machine.nodeUuid);
  if (uuid === undefined) return undefined;
  if (others.length > 0) {
    const shown = byPort.length > 0 ? machine.addresses : machine.bmcAddresses;
    await reportSharedAddresses(context, [uuid, ...others].toSorted(), shown);
    return undefined;
  }
  const [node] = await db.select().from(nodes).where(isInspected(uuid));
  return node;
}

function isInspected(uuid?: string): SQL | undefined {
  const inState = inArray(nodes.provisionState, ['inspecting', 'inspect wait']);
  return uuid === undefined ? inState : and(eq(nodes.uuid, uuid), inState);
}

async function nodesWithPorts(db: Queryable, addresses: readonly string[]): Promise<string[]> {
  if (addresses.length === 0) return [];
  const rows = await db
    .selectDistinct({ uuid: nodes.uuid })
    .from(ports)
    .innerJoin(nodes, eq(nodes.uuid, ports.nodeUuid))
    .where(and(isAmong(ports.address, addresses), isInspected()));
  return rows.map(({ uuid }) => uuid);
}

const addressColumns: Readonly<Record<string, SQL<string | null>>> = Object.fromEntries(
  addressFields.map((field) => [field, sql<string | null>`${nodes.driverInfo} ->> ${field}::text`]),
);

/** Finds nodes with a BMC's address, and reads no more than that takes, since anybody may ask. */
export async function nodesWithBmc(db: Queryable, bmcAddresses: readonly string[], among?: SQL): Promise<string[]> {
  if (bmcAddresses.length === 0) return [];
  const rows = await db.select({ uuid: nodes.uuid, addresses: addressColumns }).from(nodes).where(among);
  return rows
    .filter(({ addresses }) =>
      Object.values(addresses).some((address) => address !== null && bmcAddresses.includes(hostOf(address))),
    )
    .map(({ uuid }) => uuid);
}

/** Reads `https://192.0.2.1:8000` and `192.0.2.1` → `192.0.2.1`; `2001:DB8::1` → `2001:db8::1` */
function hostOf(address: string): string {
  const host = URL.parse(addressUrl(address))?.hostname ?? address;
  return host.replace(/^\[|\]$/g, '');
}
