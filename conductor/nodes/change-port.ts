import { randomUUID } from 'node:crypto';
import type { ConductorContext } from '#conductor/context.ts';
import type { Transaction } from '#conductor/db/open.ts';
import type { JsonObject, NodeRow } from '#conductor/db/schema/node.ts';
import type { PortRow } from '#conductor/db/schema/port.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { JsonPatch } from '#conductor/nodes/json-patch.ts';
import { planPortPatch } from '#conductor/nodes/plan-port-patch.ts';
import { type PortDescription, portColumns } from '#conductor/nodes/port-fields.ts';
import { deletePort, findPortAtSwitchPort, getPort, insertPort, updatePort } from '#conductor/nodes/port-store.ts';
import type { ProvisionState } from '#conductor/nodes/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

type PortContext = Pick<ConductorContext, 'db' | 'clock'>;

/**
 * Adds a port to a node.
 * @throws AppError `conflict` for a duplicate or while the node is in use, `node_locked`.
 */
export function createPort(
  context: PortContext,
  nodeUuid: string,
  description: PortDescription & { readonly address: string; readonly uuid?: string | undefined },
): Promise<PortRow> {
  const columns = Object.entries(portColumns)
    .map(([field, column]) => [column, description[field as keyof typeof portColumns]] as const)
    .filter(([, value]) => value !== undefined && value !== null);
  return changeUnlocked(context, nodeUuid, async (tx, node) => {
    refuseInUse(node, 'created');
    if (description.local_link_connection) await refuseSharedSwitchPort(tx, description.local_link_connection);
    return insertPort(tx, {
      ...(Object.fromEntries(columns) as object),
      address: description.address,
      nodeUuid,
      uuid: description.uuid?.toLowerCase() ?? randomUUID(),
    });
  });
}

/**
 * `PATCH /v1/ports/{port}` in one transaction.
 * @throws AppError `invalid_argument`, `conflict` for a duplicate or while the node is in use, `node_locked`.
 */
export async function changePort(context: PortContext, portUuid: string, patch: JsonPatch): Promise<PortRow> {
  const { nodeUuid } = await getPort(context.db, portUuid);
  return changeUnlocked(context, nodeUuid, async (tx, node) => {
    const change = planPortPatch(await getPort(tx, portUuid), patch);
    if ('address' in change || 'localLinkConnection' in change || 'pxeEnabled' in change) refuseInUse(node, 'changed');
    if (change.localLinkConnection) await refuseSharedSwitchPort(tx, change.localLinkConnection, portUuid);
    if (Object.keys(change).length > 0) await updatePort(tx, portUuid, change);
    return getPort(tx, portUuid);
  });
}

/** @throws AppError `conflict` while the node is in use, `node_locked`. */
export async function removePort(context: PortContext, portUuid: string): Promise<void> {
  const { nodeUuid } = await getPort(context.db, portUuid);
  await changeUnlocked(context, nodeUuid, async (tx, node) => {
    refuseInUse(node, 'deleted');
    await deletePort(tx, portUuid);
  });
}

/** Ironic's states in which a port's connection may change, and those of no instance besides. */
const rewirableStates: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'enroll',
  'manageable',
  'available',
  'inspecting',
  'inspect wait',
  'inspect failed',
]);

/**
 * The machine's address and switch port are how a flow reaches it, and how tear-down takes it off its tenant's network:
 * a port that is changed in between would leave its switch port there.
 */
function refuseInUse(node: NodeRow, verb: 'created' | 'changed' | 'deleted'): void {
  if (node.maintenance || rewirableStates.has(node.provisionState)) return;
  throw new AppError(
    'conflict',
    `A port of node ${node.uuid} can not be ${verb} while the node is in '${node.provisionState}'. ` +
      `Possible in: ${[...rewirableStates].join(', ')}, or any state in maintenance.`,
  );
}

async function refuseSharedSwitchPort(tx: Transaction, connection: JsonObject, exceptUuid?: string): Promise<void> {
  const other = await findPortAtSwitchPort(tx, connection, exceptUuid);
  if (!other) return;
  throw new AppError(
    'conflict',
    `local_link_connection: port ${other.uuid} (${other.address}) of node ${other.nodeUuid} is at this switch_id and ` +
      'port_id already.',
  );
}
