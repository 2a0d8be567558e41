import { randomUUID } from 'node:crypto';
import type { ConductorContext } from '#conductor/context.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import type { PortRow } from '#conductor/db/schema/port.ts';
import type { JsonPatch } from '#conductor/nodes/json-patch.ts';
import { refuseLocked } from '#conductor/nodes/node-lock.ts';
import { lockNode } from '#conductor/nodes/node-store.ts';
import { planPortPatch } from '#conductor/nodes/plan-port-patch.ts';
import { type PortDescription, portColumns } from '#conductor/nodes/port-fields.ts';
import { deletePort, getPort, insertPort, updatePort } from '#conductor/nodes/port-store.ts';
import { transientStates } from '#conductor/nodes/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Adds a port to a node.
 * @throws AppError `conflict` for a duplicate, `node_locked`.
 */
export function createPort(
  context: Pick<ConductorContext, 'db'>,
  nodeUuid: string,
  description: PortDescription & { readonly address: string; readonly uuid?: string | undefined },
): Promise<PortRow> {
  const columns = Object.entries(portColumns)
    .map(([field, column]) => [column, description[field as keyof typeof portColumns]] as const)
    .filter(([, value]) => value !== undefined && value !== null);
  return context.db.transaction(async (tx) => {
    await refuseLocked(tx, nodeUuid);
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
 * @throws AppError `invalid_argument`, `conflict` while the node is being worked on, `node_locked`.
 */
export function changePort(
  context: Pick<ConductorContext, 'db'>,
  portUuid: string,
  patch: JsonPatch,
): Promise<PortRow> {
  return context.db.transaction(async (tx) => {
    const port = await getPort(tx, portUuid);
    const node = await lockNode(tx, port.nodeUuid);
    const change = planPortPatch(port, patch);
    if ('address' in change || 'localLinkConnection' in change || 'pxeEnabled' in change) refuseAtWork(node, 'changed');
    await refuseLocked(tx, node.uuid);
    if (Object.keys(change).length > 0) await updatePort(tx, portUuid, change);
    return getPort(tx, portUuid);
  });
}

/** @throws AppError `conflict` while the node is in use, `node_locked`. */
export async function removePort(context: Pick<ConductorContext, 'db'>, portUuid: string): Promise<void> {
  await context.db.transaction(async (tx) => {
    const port = await getPort(tx, portUuid);
    const node = await lockNode(tx, port.nodeUuid);
    refuseAtWork(node, 'deleted');
    await refuseLocked(tx, node.uuid);
    await deletePort(tx, portUuid);
  });
}

/** The machine's address and switch port are how a running flow reaches it, and keeps it off the wrong network. */
function refuseAtWork(node: NodeRow, verb: string): void {
  const inUse = verb === 'deleted' && node.instanceUuid !== null && !node.maintenance;
  if (!transientStates.has(node.provisionState) && !inUse) return;
  throw new AppError(
    'conflict',
    `A port of node ${node.uuid} can not be ${verb} while the node is in '${node.provisionState}'` +
      `${inUse ? ` with instance ${node.instanceUuid}` : ''}.`,
  );
}
