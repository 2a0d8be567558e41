import type { NodeSwitchPort } from '#conductor/api/node-parts.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { listSetPorts, movesTo, portDiffers } from '#conductor/flows/network/look-at-switch-ports.ts';
import { isAtNeutron, readNeutronPorts } from '#conductor/flows/network/neutron-ports.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { FoundVlans } from '#conductor/model/port-vlans.ts';
import { describeBond, type FoundBond } from '#conductor/model/switch-bond.ts';
import { settingOf } from '#conductor/networks/connect-node.ts';
import { networkDataOf } from '#conductor/networks/network-data.ts';
import {
  bondsOfNode,
  networkInterfaces,
  noNeutron,
  parseNetworkInterface,
  planNetworkMove,
} from '#conductor/networks/network-interfaces.ts';
import type { NeutronLook } from '#conductor/networks/neutron/connect-by-neutron.ts';
import type { SwitchPortMove } from '#conductor/networks/switch-port-move.ts';
import { findInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { compareCablesIn, describeMovedCable, describeUncompared } from '#conductor/nodes/inspection/moved-cables.ts';
import { nameOthersPort } from '#conductor/nodes/node-ownership.ts';
import { listPortGroups } from '#conductor/nodes/ports/bond-numbers.ts';
import { listNodePorts, listOthersAt, listVifs } from '#conductor/nodes/ports/port-store.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

/** A switch that takes longer is reported as an error of its ports. Milliseconds. */
const lookMs = 30_000;

/**
 * Reads the node's switch ports that Baton has set.
 * @param look Reads them at their switches now.
 * @throws AppError `invalid_argument` for a network or a switch that is no more in the networks file.
 */
export async function readNodeNetwork(
  context: Pick<EngineContext, 'db' | 'networks'>,
  node: NodeRow,
  { look }: { readonly look: boolean },
): Promise<NodeSwitchPort[]> {
  const setPorts = await listSetPorts(context.db, node.uuid);
  if (isAtNeutron(node)) return readNeutronPorts(context, node, setPorts, look ? lookMs : undefined);
  const moves = movesTo(context, setPorts);
  const now = new Date();
  const { looks, failures } = look
    ? await context.networks.look(moves, undefined, lookMs)
    : { looks: [], failures: [] };
  return moves.flatMap((move) => {
    const { uuid, address } = move.port;
    const set = setPorts.find(({ port }) => port.uuid === uuid)?.set;
    if (!set) return [];
    const seen = looks.find((each) => each.move === move);
    const failure = failures.find((each) => each.moves.includes(move));
    return {
      port_uuid: uuid,
      address,
      switch_id: move.switchEntry.switchId,
      port_id: move.portId,
      network: set.network,
      applied_at: set.appliedAt.toISOString(),
      looked_at: (seen ? now : set.lookedAt)?.toISOString() ?? null,
      wanted: viewVlans(settingOf(move).vlans),
      found: seen ? viewVlans(seen.found.vlans) : set.found && viewVlans(set.found),
      wanted_bond: viewBond(move.bond),
      found_bond: viewBond(seen ? seen.found.bond : set.foundBond),
      differs: seen ? portDiffers(seen) : set.found !== null,
      differences: [],
      commands: [...(seen?.commands ?? [])],
      error: failure ? errorChain(failure.error) : null,
    };
  });
}

function viewBond(bond: FoundBond | 'unknown' | null | undefined): string | null {
  return bond === 'unknown' ? bond : bond ? describeBond(bond) : null;
}

function viewVlans(vlans: Exclude<FoundVlans, 'other'>): { untagged: number | null; tagged: number[] };
function viewVlans(vlans: FoundVlans): { untagged: number | null; tagged: number[] } | 'other';
function viewVlans(vlans: FoundVlans): { untagged: number | null; tagged: number[] } | 'other' {
  return vlans === 'other' ? vlans : { untagged: vlans.untagged ?? null, tagged: [...vlans.tagged] };
}

/**
 * Plans the moves of the node's switch ports that a deploy will make for its instance.
 * @throws AppError `invalid_argument` listing every fault
 */
export async function tenantMoves(
  { db, networks }: Pick<EngineContext, 'db' | 'networks'>,
  node: NodeRow,
): Promise<SwitchPortMove[]> {
  const request = await tenantRequest({ db, networks }, node);
  const networkInterface = parseNetworkInterface(node.networkInterface);
  return planNetworkMove({ networkInterface, networks: networks.networks, ...request });
}

/** The same where Neutron has the switches; `undefined`: it has not. @throws AppError as `NeutronConnector.look` */
export async function tenantBindings(
  { db, networks }: Pick<EngineContext, 'db' | 'networks'>,
  node: NodeRow,
  withinMs: number,
): Promise<readonly NeutronLook[] | undefined> {
  if (!isAtNeutron(node)) return undefined;
  if (!networks.neutron) throw new AppError('invalid_argument', noNeutron);
  const request = await tenantRequest({ db, networks }, node);
  return networks.neutron.look(request, withinMs);
}

async function tenantRequest({ db, networks }: Pick<EngineContext, 'db' | 'networks'>, node: NodeRow) {
  const [ports, vifs, groups] = await Promise.all([
    listNodePorts(db, node.uuid),
    listVifs(db, node.uuid),
    listPortGroups(db, networks.networks, node.uuid),
  ]);
  return { nodeUuid: node.uuid, ports, groups, destination: { purpose: 'tenant', vifs } } as const;
}

/**
 * Describes an instance's links for it, by the networks that its ports will be on; the node's own `network_data` wins.
 */
export async function instanceNetworkData(
  context: Pick<EngineContext, 'db' | 'networks'>,
  node: NodeRow,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (Object.keys(node.networkData).length > 0) return node.networkData;
  const { networks } = context;
  const request = await tenantRequest(context, node);
  if (isAtNeutron(node) && networks.neutron) return networks.neutron.networkData(request);
  const networkInterface = parseNetworkInterface(node.networkInterface);
  const moves = planNetworkMove({ networkInterface, networks: networks.networks, ...request });
  return networkDataOf(moves, request.groups);
}

/**
 * Finds other nodes at a bond of this node's switch: each would move the other's ports.
 * @returns a fault for each of their ports
 */
export async function findSharedBonds(
  { db, networks }: Pick<EngineContext, 'db' | 'networks'>,
  node: Pick<NodeRow, 'uuid' | 'networkInterface' | 'owner' | 'lessee'>,
  ports: readonly PortRow[],
): Promise<string[]> {
  if (!networkInterfaces[parseNetworkInterface(node.networkInterface)].switches) return [];
  const faults: string[] = [];
  for (const { switchId, bond, members } of bondsOfNode(ports, networks.networks)) {
    for (const other of await listOthersAt(db, { switchId, portIds: [bond, ...members], exceptNode: node.uuid })) {
      const whose = nameOthersPort(node, `port ${other.address}`, other.nodeUuid);
      faults.push(`bond ${bond} of switch ${switchId}: ${whose} is at it, too`);
    }
  }
  return faults;
}

/**
 * Warns of ports of the node that its last inventory has found at another switch port than their description says (another
 * node's port would be moved), or where that isn't known.
 */
export async function warnOfCables(
  { db, networks }: Pick<EngineContext, 'db' | 'networks'>,
  node: Pick<NodeRow, 'uuid' | 'networkInterface'>,
): Promise<string[]> {
  if (!networkInterfaces[parseNetworkInterface(node.networkInterface)].connects) return [];
  const kept = await findInventory(db, node.uuid);
  const inventory = InventoryDocument.safeParse(kept?.inventory);
  if (!kept || !inventory.success) return [];
  const { moved, uncompared } = compareCablesIn(inventory.data, await listNodePorts(db, node.uuid), networks.placeOf);
  // a switch of the networks file is asked for its ports' names where a flow compares them
  const unlisted = uncompared.filter(({ heard }) => !heard.isListed);
  const said = [...moved.map(describeMovedCable), ...unlisted.map(describeUncompared)];
  return said.map((words) => `${words} (as inventoried ${kept.collectedAt.toISOString()}).`);
}
