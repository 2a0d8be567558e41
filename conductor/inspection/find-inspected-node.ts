import { and, inArray } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { type NodeRow, nodes } from '#conductor/db/schema/node.ts';
import { ports } from '#conductor/db/schema/port.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What a machine that is being inspected can be told by. */
export interface InspectedMachine {
  /** Lower case. */
  readonly addresses: readonly string[];
  readonly bmcAddresses: readonly string[];
  readonly nodeUuid?: string | undefined;
}

/**
 * The node under inspection that this machine is: by its ports' MAC addresses, else by its BMC's address, which is all
 * that is known of a node without ports.
 * @throws AppError `not_found`, with one text for every reason, so that a stranger learns nothing.
 */
export async function findInspectedNode(db: Queryable, machine: InspectedMachine): Promise<NodeRow> {
  const inspected = await db
    .select()
    .from(nodes)
    .where(inArray(nodes.provisionState, ['inspecting', 'inspect wait']));
  const byPort = await nodesWithPorts(db, inspected, machine.addresses);
  const candidates = byPort.length > 0 ? byPort : inspected.filter((node) => hasBmc(node, machine.bmcAddresses));
  const [node, ...others] =
    machine.nodeUuid === undefined ? candidates : candidates.filter(({ uuid }) => uuid === machine.nodeUuid);
  if (node && others.length === 0) return node;
  throw new AppError('not_found', 'Resource could not be found.');
}

async function nodesWithPorts(
  db: Queryable,
  inspected: readonly NodeRow[],
  addresses: readonly string[],
): Promise<NodeRow[]> {
  if (inspected.length === 0 || addresses.length === 0) return [];
  const rows = await db
    .selectDistinct({ nodeUuid: ports.nodeUuid })
    .from(ports)
    .where(
      and(
        inArray(ports.address, [...addresses]),
        inArray(
          ports.nodeUuid,
          inspected.map(({ uuid }) => uuid),
        ),
      ),
    );
  const found = new Set(rows.map(({ nodeUuid }) => nodeUuid));
  return inspected.filter(({ uuid }) => found.has(uuid));
}

function hasBmc({ driverInfo }: NodeRow, bmcAddresses: readonly string[]): boolean {
  return [driverInfo['redfish_address'], driverInfo['ipmi_address']].some(
    (address) => typeof address === 'string' && bmcAddresses.includes(hostOf(address)),
  );
}

/** `https://192.0.2.1:8000` and `192.0.2.1` → `192.0.2.1` */
function hostOf(address: string): string {
  const host = URL.parse(address.includes('://') ? address : `https://${address}`)?.hostname ?? address;
  return host.replace(/^\[|\]$/g, '');
}
