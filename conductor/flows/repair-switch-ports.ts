import type { EngineContext } from '#conductor/flows/context.ts';
import { findOpenFlow } from '#conductor/flows/flow-store.ts';
import { asSet, listSetPorts } from '#conductor/flows/look-at-switch-ports.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/change-note.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { recordSwitchPort } from '#conductor/nodes/ports/port-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Puts a node's switch ports back where Baton has set them last, and reads them back.
 * @param isMeant which of them; default: all
 * @throws AppError `conflict` while a flow is open, which sets them by itself; `node_locked`, `switch_error`, `unavailable`
 */
export async function repairSwitchPorts(
  context: EngineContext,
  node: Pick<NodeRow, 'uuid' | 'networkInterface'>,
  caller: Caller,
  isMeant: (port: PortRow) => boolean = () => true,
): Promise<void> {
  const { db, networks } = context;
  await withNodeLock(context, node.uuid, async (signal) => {
    if (await findOpenFlow(db, node.uuid)) {
      throw new AppError('conflict', `Node ${node.uuid} has a flow under way, which sets its switch ports.`);
    }
    const setPorts = (await listSetPorts(db, node.uuid)).filter(({ port }) => isMeant(port));
    if (setPorts.length === 0) return;
    const { networkInterface } = node;
    const placements = await networks.connect({
      nodeUuid: node.uuid,
      networkInterface,
      ports: setPorts.map(({ port }) => port),
      destination: asSet(setPorts),
      signal,
    });
    await db.transaction(async (tx) => {
      for (const { port, network, vlan, bond } of placements)
        await recordSwitchPort(tx, { portUuid: port.uuid, network, vlan, bond });
      await writeChangeNote(tx, node.uuid, changeNote(context, caller, 'switch ports set again as recorded'));
    });
  });
}
