import type { NodeInsert } from '#conductor/db/schema/node.ts';

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
