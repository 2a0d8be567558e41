import type { EngineContext } from '#conductor/flows/context.ts';
import { updateFlow } from '#conductor/flows/flow-store.ts';
import { worksOn } from '#conductor/kernel/conductors/node-conductor.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { holdLease, type Lease } from '#conductor/nodes/node-lease.ts';

/**
 * During a rolling upgrade a new conductor plans what an old one does not know. As long as somebody else works on the
 * node, the flow is held with the reason, and goes on where it is known; who is alone answers `false`, and fails it.
 * The time until then counts for no limit.
 */
export async function leaveToOthers(
  context: Pick<EngineContext, 'db' | 'config' | 'clock' | 'conductors' | 'log'>,
  {
    lease,
    node,
    flow,
    unknown,
  }: { readonly lease: Lease; readonly node: NodeRow; readonly flow: FlowRow; readonly unknown: string },
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
  context.log.warn({ node: node.uuid, flow: flow.uuid, unknown }, 'left to a conductor of another release');
  return true;
}
