import type { NodesContext } from '#conductor/nodes/context.ts';
import { addStrangersHistory, listHistory } from '#conductor/nodes/node-history.ts';
import { nameSome } from '#shared/words.ts';

/**
 * Puts into the history of each node that a machine has asked with network cards of all of them: which one it is can't be
 * known, so it gets no answer, and its ramdisk asks until somebody acts.
 * @param nodeUuids in order
 */
export async function reportSharedAddresses(
  { db, config, log }: Pick<NodesContext, 'db' | 'config' | 'log'>,
  nodeUuids: readonly string[],
  addresses: readonly string[],
): Promise<void> {
  log.warn(
    { nodes: nodeUuids, addresses },
    'a machine has network cards that are ports of several nodes: it gets no answer',
  );
  for (const nodeUuid of nodeUuids) {
    const others = nodeUuids.filter((each) => each !== nodeUuid).join(', ');
    const event =
      `a machine has asked with network cards that are ports of this node and of ${others}, so it got no answer: ` +
      `${nameSome(addresses, 8)}; delete the port of the wrong node (USB cards of BMCs have one address in many machines)`;
    const [last] = await listHistory(db, nodeUuid, 1);
    // it asks again and again
    if (last?.event === event) continue;
    await addStrangersHistory(db, {
      nodeUuid,
      severity: 'ERROR',
      eventType: 'agent',
      event,
      conductor: config.conductorName,
    });
  }
}
