import { randomUUID } from 'node:crypto';
import type { PortDescription } from '#conductor/api/port-description.ts';
import { accessDenied, type Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { JsonPatch } from '#conductor/kernel/json-patch.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { changeNote, describePatch } from '#conductor/nodes/change-note.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { checkMembership } from '#conductor/nodes/ports/check-membership.ts';
import { planPortPatch } from '#conductor/nodes/ports/plan-port-patch.ts';
import { portColumns } from '#conductor/nodes/ports/port-fields.ts';
import {
  deletePort,
  findPortAtSwitchPort,
  getPort,
  insertPort,
  updatePort,
} from '#conductor/nodes/ports/port-store.ts';
import { refuseInUse } from '#conductor/nodes/refuse-in-use.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What says how the machine is connected. */
const rewiring = ['address', 'localLinkConnection', 'pxeEnabled', 'portgroupUuid'] as const;

/** What says which ports of a switch are the machine's: a project could claim another's machine, and have it moved. */
const wiring = { local_link_connection: 'localLinkConnection', physical_network: 'physicalNetwork' } as const;

type PortContext = Pick<NodesContext, 'db' | 'clock' | 'config'>;

/**
 * Adds a port to a node.
 * @throws AppError `conflict` for a duplicate or while the node is in use, `node_locked`.
 */
export function createPort(
  context: PortContext,
  nodeUuid: string,
  description: PortDescription & { readonly address: string; readonly uuid?: string | undefined },
  caller: Caller,
): Promise<PortRow> {
  const note = changeNote(context, caller, `port ${description.address} created`);
  refuseWiring('create', caller, Object.keys(description));
  const columns = Object.entries(portColumns)
    .map(([field, column]) => [column, description[field as keyof typeof portColumns]] as const)
    .filter(([, value]) => value !== undefined && value !== null);
  return changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      refuseInUse(node, 'port', 'created');
      if (description.local_link_connection) await refuseSharedSwitchPort(tx, description.local_link_connection);
      const uuid = description.uuid?.toLowerCase() ?? randomUUID();
      const { address } = description;
      await checkMembership(tx, {
        uuid,
        nodeUuid,
        address,
        portgroupUuid: description.portgroup_uuid ?? null,
        pxeEnabled: description.pxe_enabled ?? true,
        physicalNetwork: description.physical_network ?? null,
      });
      return insertPort(tx, { ...(Object.fromEntries(columns) as object), address, nodeUuid, uuid });
    },
    note,
  );
}

/**
 * `PATCH /v1/ports/{port}` in one transaction.
 * @throws AppError `invalid_argument`, `conflict` for a duplicate or while the node is in use, `node_locked`.
 */
export async function changePort(
  context: PortContext,
  portUuid: string,
  patch: JsonPatch,
  caller: Caller,
): Promise<PortRow> {
  const { nodeUuid, address } = await getPort(context.db, portUuid);
  const note = changeNote(context, caller, `port ${address}: ${describePatch(patch)}`);
  return changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      const before = await getPort(tx, portUuid);
      const change = planPortPatch(before, patch);
      refuseWiring('update', caller, Object.keys(change));
      if (rewiring.some((column) => column in change)) refuseInUse(node, 'port', 'changed');
      if (change.localLinkConnection) await refuseSharedSwitchPort(tx, change.localLinkConnection, portUuid);
      await checkMembership(tx, { ...before, ...change });
      if (Object.keys(change).length > 0) await updatePort(tx, portUuid, change);
      return getPort(tx, portUuid);
    },
    note,
  );
}

/** @throws AppError `conflict` while the node is in use, `node_locked`. */
export async function removePort(context: PortContext, portUuid: string, caller: Caller): Promise<void> {
  const { nodeUuid, address } = await getPort(context.db, portUuid);
  await changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      refuseInUse(node, 'port', 'deleted');
      await deletePort(tx, portUuid);
    },
    changeNote(context, caller, `port ${address} deleted`),
  );
}

/** @param names fields or columns. @throws AppError `forbidden` for a caller of a project that writes how it is wired. */
function refuseWiring(verb: string, caller: Caller, names: readonly string[]): void {
  if (caller.project === undefined) return;
  for (const [field, column] of Object.entries(wiring)) {
    if (!names.includes(field) && !names.includes(column)) continue;
    throw accessDenied(`baremetal:port:${verb}:${field}`, caller, undefined);
  }
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
