import type { Caller } from '#conductor/kernel/caller.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { noNeutron } from '#conductor/networks/network-interfaces.ts';
import type { Network } from '#conductor/networks/networks-file.ts';
import type { Vif } from '#conductor/networks/place-vifs.ts';
import { requireAttachable } from '#conductor/networks/require-attachable.ts';
import { changeNote } from '#conductor/nodes/change-note.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { listVifs } from '#conductor/nodes/ports/vif-store.ts';
import { attachVif, detachVif } from '#conductor/nodes/vifs/change-vif.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

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
  const found = node.networkInterface === 'neutron' ? await findVifs(context, node, vif, caller) : networks.networks;
  const note = changeNote(context, caller, `network ${vif.id} attached`);
  await changeUnlocked(context, node.uuid, (tx, current) => attachVif(tx, current, vif, found), note);
}

/** Ports of Neutron: this one, which the caller may attach if it is of the same project, and those attached before. */
async function findVifs(
  { db, networks: { neutron } }: NetworkContext,
  node: NetworkNode,
  vif: Vif,
  { project }: Caller,
): Promise<Pick<Network, 'name' | 'physicalNetwork'>[]> {
  if (!neutron) throw new AppError('invalid_argument', noNeutron);
  const ids = new Set([vif.id, ...(await listVifs(db, node.uuid)).map(({ id }) => id)]);
  const found = await Promise.all(
    [...ids].map((id) =>
      neutron.findVif(id).catch((error: unknown) => {
        if (errorCode(error) !== 'not_found') throw error;
        // one that was attached before may be gone meanwhile
        if (id === vif.id) throw new AppError('invalid_argument', `id: Neutron has no port '${id}'.`);
        return { id, physicalNetwork: undefined, project: undefined };
      }),
    ),
  );
  if (project !== undefined && found[0]?.project !== project) {
    throw new AppError(
      'forbidden',
      `Access was denied to the following resource: baremetal:node:vif:attach (id: port ${vif.id} of Neutron is not of project ${project}).`,
    );
  }
  return found.map(({ id: name, physicalNetwork }) => ({ name, physicalNetwork }));
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
