import type { EngineContext } from '#conductor/flows/context.ts';
import { tenantMoves } from '#conductor/flows/tenant-moves.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { networkDataOf } from '#conductor/networks/network-data.ts';
import { listPortGroups } from '#conductor/nodes/ports/bond-numbers.ts';

/** What an instance learns of its links, by the networks that its ports will be on; the node's own `network_data` wins. */
export async function instanceNetworkData(
  context: Pick<EngineContext, 'db' | 'networks'>,
  node: NodeRow,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  if (Object.keys(node.networkData).length > 0) return node.networkData;
  const moves = await tenantMoves(context, node);
  return networkDataOf(moves, await listPortGroups(context.db, context.networks.networks, node.uuid));
}
