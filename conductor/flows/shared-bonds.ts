import type { EngineContext } from '#conductor/flows/context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { bondsOfNode, networkInterfaces, parseNetworkInterface } from '#conductor/networks/network-interfaces.ts';
import { listOthersAt } from '#conductor/nodes/ports/port-store.ts';

/** Other nodes at a bond of this node's switch: each would move the other. @returns a fault for each of their ports */
export async function findSharedBonds(
  { db, networks }: Pick<EngineContext, 'db' | 'networks'>,
  node: Pick<NodeRow, 'uuid' | 'networkInterface'>,
  ports: readonly PortRow[],
): Promise<string[]> {
  if (!networkInterfaces[parseNetworkInterface(node.networkInterface)].switches) return [];
  const faults: string[] = [];
  for (const { switchId, bond, members } of bondsOfNode(ports, networks.networks)) {
    for (const other of await listOthersAt(db, { switchId, portIds: [bond, ...members], exceptNode: node.uuid })) {
      faults.push(`bond ${bond} of switch ${switchId}: port ${other.address} of node ${other.nodeUuid} is at it, too`);
    }
  }
  return faults;
}
