import { eq } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { portgroups } from '#conductor/kernel/db/schema/portgroup.ts';
import { networkDataOf } from '#conductor/networks/network-data.ts';
import { parseNetworkInterface, planNetworkMove } from '#conductor/networks/network-interfaces.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { listVifs } from '#conductor/nodes/ports/vif-store.ts';

/** What an instance is told of its links by the networks that its ports will be on; the node's own `network_data` wins. */
export async function instanceNetworkData(
  { db, networks }: Pick<EngineContext, 'db' | 'networks'>,
  node: NodeRow,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (Object.keys(node.networkData).length > 0) return node.networkData;
  const [ports, vifs, groups] = await Promise.all([
    listNodePorts(db, node.uuid),
    listVifs(db, node.uuid),
    db.select().from(portgroups).where(eq(portgroups.nodeUuid, node.uuid)).orderBy(portgroups.id),
  ]);
  const moves = planNetworkMove({
    networkInterface: parseNetworkInterface(node.networkInterface),
    ports,
    networks: networks.networks,
    destination: { purpose: 'tenant', vifs },
  });
  return networkDataOf(moves, groups);
}
