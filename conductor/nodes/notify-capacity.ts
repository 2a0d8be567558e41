import { sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { statement } from '#conductor/kernel/db/query/statement.ts';
import type { NodeChange } from '#conductor/nodes/node-store.ts';

export const capacityChannel = 'baton_capacity';

/** Fields of a node that decide whether it fits. */
const deciding: readonly (keyof NodeChange)[] = [
  'resourceClass',
  'maintenance',
  'retired',
  'instanceUuid',
  'owner',
  'lessee',
  'powerState',
];

/** Returns whether the change can make the node fit an allocation that it did not fit. Pure. */
export function mayBringCapacity(change: NodeChange): boolean {
  return deciding.some((key) => change[key] !== undefined);
}

/**
 * Notifies conductors, once the caller's transaction is committed, that this node may fit waiting allocations now. Does
 * nothing when no allocation of its class waits, or when the transaction leaves the node unavailable. Best effort: conductors
 * look for themselves every period.
 */
export async function notifyCapacity(db: Queryable, nodeUuid: string): Promise<void> {
  await notify(db, { nodeUuid });
}

const notify = statement<{ nodeUuid: string }>(
  (value) => sql`
    select pg_notify(${sql.raw(`'${capacityChannel}'`)}, '') where exists (
      select from nodes node join allocations on allocations.resource_class = node.resource_class
      where node.uuid = ${value('nodeUuid')} and allocations.state = 'allocating'
        and node.provision_state = 'available'
        and not node.maintenance and not node.retired and node.instance_uuid is null)`,
);
