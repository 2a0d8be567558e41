import type { Caller } from '#conductor/kernel/caller.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { Vif } from '#conductor/networks/place-vifs.ts';
import { requireAttachable } from '#conductor/networks/require-attachable.ts';
import { changeNote } from '#conductor/nodes/change-note.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { attachVif, detachVif } from '#conductor/nodes/vifs/change-vif.ts';

type NetworkContext = Pick<NodesContext, 'db' | 'clock' | 'config' | 'networks'>;
type NetworkNode = Pick<NodeRow, 'uuid' | 'networkInterface'>;

/**
 * `POST /v1/nodes/{node}/vifs`: the next deploy puts the node there.
 * @throws AppError `forbidden`, `invalid_argument` for a network that is not there, `conflict`, `node_locked`.
 */
export async function attachNetwork(
  context: NetworkContext,
  node: NetworkNode,
  vif: Vif,
  caller: Caller,
): Promise<void> {
  const { networks } = context.networks;
  if (node.networkInterface === 'switchport') requireAttachable(networks, vif.id, caller);
  const note = changeNote(context, caller, `network ${vif.id} attached`);
  await changeUnlocked(context, node.uuid, (tx, current) => attachVif(tx, current, vif, networks.networks), note);
}

/** `DELETE /v1/nodes/{node}/vifs/{vif}`. @throws AppError `invalid_argument`, `conflict`, `node_locked`. */
export async function detachNetwork(
  context: NetworkContext,
  node: NetworkNode,
  network: string,
  caller: Caller,
): Promise<void> {
  const note = changeNote(context, caller, `network ${network} detached`);
  await changeUnlocked(context, node.uuid, (tx, current) => detachVif(tx, current, network), note);
}
