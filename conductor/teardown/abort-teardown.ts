import type { ConductorContext } from '#conductor/context.ts';
import type { FlowRow } from '#conductor/db/schema/flow.ts';
import { stopFlow } from '#conductor/flows/finish-flow.ts';
import { flowKinds, isBesideStates } from '#conductor/flows/flow-kinds.ts';
import { findOpenFlow } from '#conductor/flows/flow-store.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';

/**
 * Stops a decommission, or a removal from the cluster, between two looks. Nothing is undone: the flow's error says what
 * remains to be done by hand.
 * @returns false when none is under way
 * @throws AppError `node_locked` while a conductor looks
 */
export async function abortTeardown(context: ConductorContext, nodeUuid: string, error: string): Promise<boolean> {
  // most aborts are of other flows: they need not wait for the node here, too
  if (!isBeside(await findOpenFlow(context.db, nodeUuid))) return false;
  const isStopped = await changeUnlocked(context, nodeUuid, async (tx) => {
    const flow = await findOpenFlow(tx, nodeUuid);
    if (!flow || !isBeside(flow)) return false;
    await stopFlow(context, tx, flow, { error, thenEnd: false });
    return true;
  });
  if (isStopped) context.nudge(nodeUuid);
  return isStopped;
}

function isBeside(flow: Pick<FlowRow, 'kind'> | undefined): boolean {
  return flow !== undefined && Object.hasOwn(flowKinds, flow.kind) && isBesideStates(flowKinds[flow.kind]);
}
