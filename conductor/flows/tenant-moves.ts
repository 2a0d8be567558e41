import type { EngineContext } from '#conductor/flows/context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { parseNetworkInterface, planNetworkMove, type SwitchPortMove } from '#conductor/networks/network-interfaces.ts';
import { listPortGroups } from '#conductor/nodes/ports/bond-numbers.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { listVifs } from '#conductor/nodes/ports/vif-store.ts';

/** Where a deploy will put the node's switch ports for its instance. @throws AppError `invalid_argument` listing every fault */
export async function tenantMoves(
  { db, networks }: Pick<EngineContext, 'db' | 'networks'>,
  node: NodeRow,
): Promise<SwitchPortMove[]> {
  const [ports, vifs, groups] = await Promise.all([
    listNodePorts(db, node.uuid),
    listVifs(db, node.uuid),
    listPortGroups(db, networks.networks, node.uuid),
  ]);
  return planNetworkMove({
    networkInterface: parseNetworkInterface(node.networkInterface),
    ports,
    networks: networks.networks,
    destination: { purpose: 'tenant', vifs },
    groups,
  });
}
