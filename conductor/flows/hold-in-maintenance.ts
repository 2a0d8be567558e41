import type { EngineContext } from '#conductor/flows/context.ts';
import { prolongWaits, updateFlow } from '#conductor/flows/flow-store.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { isCleaningUp } from '#conductor/model/flow-states.ts';
import { nodeFaults } from '#conductor/model/node-faults.ts';
import { holdLease, type Lease } from '#conductor/nodes/node-lease.ts';

/** Verbs that are possible in maintenance. */
const askedFor: ReadonlySet<FlowRow['kind']> = new Set(['teardown', 'restore']);

export function isHeld({ flow, node }: { readonly flow: FlowRow; readonly node: NodeRow }): boolean {
  const isExempt = askedFor.has(flow.kind) || isCleaningUp(flow.state);
  return node.maintenance && (node.fault === nodeFaults.restored || !isExempt);
}

/**
 * In maintenance a person may have their hands in the machine: nothing is done and no time runs out, but for what
 * makes a node safe (clean-up) and what the person has asked for (teardown, bringing an instance back); after a restore
 * of the database nothing goes on.
 */
export async function holdInMaintenance(
  context: EngineContext,
  { lease, node, flow }: { readonly lease: Lease; readonly node: NodeRow; readonly flow: FlowRow },
): Promise<'held' | 'released' | 'not held'> {
  const holds = isHeld({ flow, node });
  if (!holds && flow.held === null) return 'not held';
  const now = context.clock.now();
  await context.db.transaction(async (tx) => {
    await holdLease(tx, lease);
    const held = holds ? `node is in maintenance${node.maintenanceReason ? `: ${node.maintenanceReason}` : ''}` : null;
    if (holds) {
      const heldSince = flow.heldSince ?? now;
      await updateFlow(tx, flow.uuid, { held, heldSince, checkInMs: context.config.reconcileIntervalMs });
    } else {
      await prolongWaits(tx, flow.uuid, now.getTime() - (flow.heldSince ?? now).getTime());
      await updateFlow(tx, flow.uuid, { held, heldSince: null, checkInMs: 0 });
    }
  });
  return holds ? 'held' : 'released';
}
