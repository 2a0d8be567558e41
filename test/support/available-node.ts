import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type NodeInsert, nodes } from '#conductor/kernel/db/schema/node.ts';

/** The row of a node of class `big` that nothing stands against. */
export function availableNode(name: string, more: Partial<NodeInsert> = {}) {
  return {
    uuid: crypto.randomUUID() as string,
    name,
    driver: 'fake-hardware',
    networkInterface: 'noop' as const,
    resourceClass: 'big',
    provisionState: 'available' as const,
    powerState: 'power off' as const,
    ...more,
  };
}

/** The UUID of such a node, enrolled. */
export async function addAvailableNode(db: Queryable, name: string, more: Partial<NodeInsert> = {}): Promise<string> {
  const node = availableNode(name, more);
  await db.insert(nodes).values(node);
  return node.uuid;
}
