import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { deployedStates, transientStates } from '#conductor/model/provision-states.ts';
import { networkInterfaces, noNeutron, parseNetworkInterface } from '#conductor/networks/network-interfaces.ts';
import { requireAttachable } from '#conductor/networks/require-attachable.ts';
import { placeVifs, type Vif, type VifNetwork, withPhysicalNetworks } from '#conductor/networks/vifs/place-vifs.ts';
import type { PortRules } from '#conductor/networks/vifs/port-rules.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { changeNote } from '#conductor/nodes/node-history.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { dissolveUnusedGroups, placeByRules } from '#conductor/nodes/ports/place-by-rules.ts';
import { portgroupResource } from '#conductor/nodes/ports/port.ts';
import {
  deleteVif,
  insertVif,
  listNodePortgroups,
  listNodePorts,
  listVifs,
} from '#conductor/nodes/ports/port-store.ts';
import { findRow } from '#conductor/nodes/resources/resource-store.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * @returns whether it is attached now: the `noop` interface takes everything and keeps nothing
 * @throws AppError `conflict` when it is attached already or the node is in use, `invalid_argument` for a port or port
 * group that is not the node's, or when no port is free for it.
 */
async function attachVif(
  tx: Transaction,
  node: NodeRow,
  vif: Vif,
  networks: readonly VifNetwork[],
  rules: PortRules | undefined,
): Promise<boolean> {
  if (node.networkInterface === 'noop') return false;
  requireNotInUse(node, `attach VIF ${vif.id} to`);
  const attached = await listVifs(tx, node.uuid);
  const what = `Unable to attach VIF ${vif.id} to node ${node.uuid}`;
  if (attached.some(({ id }) => id === vif.id)) {
    throw new AppError('conflict', `${what}: it is attached already.`);
  }
  await dissolveUnusedGroups(tx, node.uuid, attached);
  const ports = await listNodePorts(tx, node.uuid);
  if (vif.portUuid !== null && !ports.some(({ uuid }) => uuid === vif.portUuid)) {
    throw new AppError('invalid_argument', `port_uuid: node ${node.uuid} has no port ${vif.portUuid}.`);
  }
  const group = vif.portgroupUuid === null ? undefined : await findRow(tx, portgroupResource, vif.portgroupUuid);
  if (vif.portgroupUuid !== null && group?.nodeUuid !== node.uuid) {
    throw new AppError('invalid_argument', `portgroup_uuid: node ${node.uuid} has no port group ${vif.portgroupUuid}.`);
  }
  const networkInterface = parseNetworkInterface(node.networkInterface);
  let placed = vif;
  if (networkInterfaces[networkInterface].connects) {
    const groups = await listNodePortgroups(tx, node.uuid);
    const isConnected = ({ localLinkConnection }: PortRow) => Object.keys(localLinkConnection).length > 0;
    let connected = withPhysicalNetworks(ports.filter(isConnected), groups);
    if (rules && vif.portUuid === null && vif.portgroupUuid === null) {
      placed = await placeByRules(tx, node, vif, { rules, ports: connected, groups, attached });
      // they may be in a group now that was made for it
      connected = withPhysicalNetworks((await listNodePorts(tx, node.uuid)).filter(isConnected), groups);
    }
    const [fault] = placeVifs(
      [...attached, placed],
      connected,
      networks,
      networkInterface === 'neutron' ? 'takes one' : 'takes all ports',
    ).faults;
    if (fault !== undefined) throw new AppError('invalid_argument', `${what}: ${fault}.`);
  }
  await insertVif(tx, node.uuid, placed);
  return true;
}

/** @throws AppError `invalid_argument` when it is not attached, `conflict` while the node is in use. */
async function detachVif(tx: Transaction, node: NodeRow, vifId: string): Promise<boolean> {
  if (node.networkInterface === 'noop') return false;
  requireNotInUse(node, `detach VIF ${vifId} from`);
  if (await deleteVif(tx, node.uuid, vifId)) {
    await dissolveUnusedGroups(tx, node.uuid, await listVifs(tx, node.uuid));
    return true;
  }
  throw new AppError(
    'invalid_argument',
    `Unable to detach VIF ${vifId} from node ${node.uuid}: it is not attached to it.`,
  );
}

/**
 * Refuses a change of VIFs while an instance uses them: they are read when a flow moves switch ports, and a change at any
 * other time would claim a move that was not made.
 */
function requireNotInUse(node: NodeRow, doing: string): void {
  const rests = node.targetProvisionState === null && !transientStates.has(node.provisionState);
  if (rests && !deployedStates.has(node.provisionState)) return;
  throw new AppError(
    'conflict',
    `Unable to ${doing} node ${node.uuid} while it is in '${node.provisionState}': ` +
      'a network is attached before a deploy, and tear-down detaches it.',
  );
}

type NetworkContext = Pick<NodesContext, 'db' | 'clock' | 'config' | 'networks'>;
type NetworkNode = Pick<NodeRow, 'uuid' | 'networkInterface'>;

/**
 * Serves `POST /v1/nodes/{node}/vifs`: the next deploy puts the node there.
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
  await changeUnlocked(
    context,
    node.uuid,
    (tx, current) => attachVif(tx, current, vif, found, networks.portRules),
    (isAttached) => (isAttached ? note : undefined),
  );
}

/** Finds ports of Neutron: this one, which the caller may attach if it is of the same project, and those attached before. */
async function findVifs(
  { db, networks: { neutron } }: NetworkContext,
  node: NetworkNode,
  vif: Vif,
  { project }: Caller,
): Promise<readonly VifNetwork[]> {
  if (!neutron) throw new AppError('invalid_argument', noNeutron);
  const ids = new Set([vif.id, ...(await listVifs(db, node.uuid)).map(({ id }) => id)]);
  const found = await Promise.all(
    [...ids].map((id) =>
      neutron.findVif(id).catch((error: unknown) => {
        if (errorCode(error) !== 'not_found') throw error;
        // one that was attached before may be gone meanwhile
        if (id === vif.id) throw new AppError('invalid_argument', `id: Neutron has no port '${id}'.`);
        return { id, physicalNetwork: [], project: undefined };
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

/** Serves `DELETE /v1/nodes/{node}/vifs/{vif}`. @throws AppError `invalid_argument`, `conflict`, `node_locked`. */
export async function detachNetwork(
  context: NetworkContext,
  node: NetworkNode,
  network: string,
  caller: Caller,
): Promise<void> {
  const note = changeNote(context, caller, `network ${network} detached`);
  await changeUnlocked(
    context,
    node.uuid,
    (tx, current) => detachVif(tx, current, network),
    (isDetached) => (isDetached ? note : undefined),
  );
}
