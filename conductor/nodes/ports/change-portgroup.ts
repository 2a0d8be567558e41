import { randomUUID } from 'node:crypto';
import { PortgroupDescription } from '#conductor/api/portgroup-description.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { PortgroupRow } from '#conductor/kernel/db/schema/portgroup.ts';
import { type JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import { changeNote, describePatch } from '#conductor/nodes/change-note.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import {
  deletePortgroup,
  describePortgroup,
  getPortgroup,
  insertPortgroup,
  updatePortgroup,
} from '#conductor/nodes/ports/portgroup-store.ts';
import { refuseInUse } from '#conductor/nodes/refuse-in-use.ts';
import { AppError } from '#shared/errors/app-error.ts';

type PortgroupContext = Pick<NodesContext, 'db' | 'clock' | 'config'>;

/**
 * Adds a port group to a node.
 * @throws AppError `conflict` for a duplicate or while the node is in use, `node_locked`.
 */
export function createPortgroup(
  context: PortgroupContext,
  nodeUuid: string,
  description: PortgroupDescription,
  { uuid = randomUUID(), caller }: { readonly uuid: string | undefined; readonly caller: Caller },
): Promise<PortgroupRow> {
  return changeUnlocked(
    context,
    nodeUuid,
    (tx, node) => {
      refuseInUse(node, 'port group', 'created');
      return insertPortgroup(tx, { uuid, nodeUuid }, description);
    },
    changeNote(context, caller, `port group ${uuid} created`),
  );
}

/**
 * `PATCH /v1/portgroups/{portgroup}` in one transaction.
 * @throws AppError `invalid_argument`, `conflict` for a duplicate, for PXE ports in a group that may have none, or while
 * the node is in use; `node_locked`.
 */
export async function changePortgroup(
  context: PortgroupContext,
  portgroup: PortgroupRow,
  patch: JsonPatch,
  caller: Caller,
): Promise<PortgroupRow> {
  const { uuid, nodeUuid } = portgroup;
  return changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      const before = await getPortgroup(tx, uuid);
      const after = patchDocument(describePortgroup(before), patch, PortgroupDescription);
      const rewired =
        after.address !== before.address || after.standalone_ports_supported !== before.standalonePortsSupported;
      if (rewired) refuseInUse(node, 'port group', 'changed');
      if (!after.standalone_ports_supported) await refusePxePorts(tx, before);
      if (patch.length > 0) await updatePortgroup(tx, uuid, after);
      return getPortgroup(tx, uuid);
    },
    changeNote(context, caller, `port group ${uuid}: ${describePatch(patch)}`),
  );
}

/** @throws AppError `invalid_argument` while it has ports, `conflict` while the node is in use, `node_locked`. */
export async function removePortgroup(
  context: PortgroupContext,
  portgroup: PortgroupRow,
  caller: Caller,
): Promise<void> {
  const { uuid, nodeUuid } = portgroup;
  await changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      refuseInUse(node, 'port group', 'deleted');
      if ((await membersOf(tx, portgroup)).length > 0) {
        throw new AppError(
          'invalid_argument',
          `Cannot complete the requested action because portgroup ${uuid} contains ports.`,
        );
      }
      await deletePortgroup(tx, uuid);
    },
    changeNote(context, caller, `port group ${uuid} deleted`),
  );
}

async function membersOf(tx: Transaction, portgroup: PortgroupRow) {
  return (await listNodePorts(tx, portgroup.nodeUuid)).filter((port) => port.portgroupUuid === portgroup.uuid);
}

async function refusePxePorts(tx: Transaction, portgroup: PortgroupRow): Promise<void> {
  const booting = (await membersOf(tx, portgroup)).filter((port) => port.pxeEnabled);
  if (booting.length === 0) return;
  throw new AppError(
    'conflict',
    `standalone_ports_supported can not be set to False, because the port group ${portgroup.uuid} contains ports with ` +
      `pxe_enabled: ${booting.map((port) => port.address).join(', ')}.`,
  );
}
