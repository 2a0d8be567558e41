import type { EngineContext } from '#conductor/flows/context.ts';
import type { Work } from '#conductor/flows/load-step-context.ts';
import { prolongWaits, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { worksOn } from '#conductor/kernel/conductors/node-conductor.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { isCleaningUp } from '#conductor/model/flows/flow-states.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { loggedIds } from '#conductor/model/request-ids.ts';
import { holdLease } from '#conductor/nodes/node-lease.ts';

/** Periods between two looks at a flow that a node's maintenance holds: its end nudges, and thousands may be held at once. */
const heldPeriods = 12;

/** Verbs that are possible in maintenance. */
const askedFor: ReadonlySet<FlowRow['kind']> = new Set(['teardown', 'restore']);

export function isHeld({ flow, node }: { readonly flow: FlowRow; readonly node: NodeRow }): boolean {
  const isExempt = askedFor.has(flow.kind) || isCleaningUp(flow.state);
  return node.maintenance && (node.fault === nodeFaults.restored || !isExempt);
}

/**
 * Holds a flow of a node in maintenance, where a person may be working on the machine: nothing is done and no time runs out,
 * except for steps that make a node safe (clean-up) and those that the person has asked for (teardown, bringing an instance
 * back); after a restore of the database nothing goes on.
 */
export async function holdInMaintenance(
  context: Pick<EngineContext, 'db' | 'config' | 'clock'>,
  { lease, node, flow }: Pick<Work, 'lease' | 'node' | 'flow'>,
): Promise<'held' | 'released' | 'not held'> {
  const holds = isHeld({ flow, node });
  if (!holds && flow.held === null) return 'not held';
  const now = context.clock.now();
  await context.db.transaction(async (tx) => {
    await holdLease(tx, lease);
    const held = holds ? `node is in maintenance${node.maintenanceReason ? `: ${node.maintenanceReason}` : ''}` : null;
    if (holds) {
      const heldSince = flow.heldSince ?? now;
      await updateFlow(tx, flow.uuid, { held, heldSince, checkInMs: heldPeriods * context.config.reconcileIntervalMs });
    } else {
      await prolongWaits(tx, flow.uuid, now.getTime() - (flow.heldSince ?? now).getTime());
      await updateFlow(tx, flow.uuid, { held, heldSince: null, checkInMs: 0 });
    }
  });
  return holds ? 'held' : 'released';
}

/**
 * Leaves to other conductors a flow that this one does not know: during a rolling upgrade a new conductor plans steps that
 * an old one lacks. As long as somebody else works on the node, the flow is held with the reason, and goes on where it is
 * known; when there is no other conductor the answer is `false`, and the flow fails. The time until then counts for no
 * limit.
 */
export async function leaveToOthers(
  context: Pick<EngineContext, 'db' | 'config' | 'clock' | 'conductors' | 'log'>,
  { lease, node, flow, unknown }: Pick<Work, 'lease' | 'node' | 'flow'> & { readonly unknown: string },
): Promise<boolean> {
  const { conductorName, reconcileIntervalMs } = context.config;
  const alive = await context.conductors.live();
  if (!alive.some((each) => each.hostname !== conductorName && worksOn(each, node))) return false;
  const held = `waits for a conductor that knows ${unknown}: the release of ${conductorName} does not`;
  const heldSince = flow.heldSince ?? context.clock.now();
  await context.db.transaction(async (tx) => {
    await holdLease(tx, lease);
    await updateFlow(tx, flow.uuid, { held, heldSince, checkInMs: reconcileIntervalMs });
  });
  context.log.warn(
    { node: node.uuid, flow: flow.uuid, ...loggedIds(flow), unknown },
    'left to a conductor of another release',
  );
  return true;
}
