import type { FlowsContext } from '#conductor/flows/context.ts';
import { stopFlow } from '#conductor/flows/finish-flow.ts';
import { findOpenFlow, updateFlow } from '#conductor/flows/flow-store.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flow-kinds.ts';
import { touchLease } from '#conductor/nodes/node-lease.ts';

/**
 * Stops a decommission, or a removal from the cluster, between two looks: at once, or when the look under way has ended,
 * which takes long where a cluster does not answer. Nothing is undone: the flow's error says what remains to be done by
 * hand.
 * @returns false when none is under way
 */
export async function abortTeardown(context: FlowsContext, nodeUuid: string, error: string): Promise<boolean> {
  // most aborts are of other flows: they need not wait for the node here, too
  if (!isBeside(await findOpenFlow(context.db, nodeUuid))) return false;
  const isStopped = await context.db.transaction(async (tx) => {
    const isFree = await touchLease(tx, nodeUuid);
    const flow = await findOpenFlow(tx, nodeUuid);
    if (!flow || !isBeside(flow)) return false;
    if (isFree) await stopFlow(context, tx, flow, { error, thenEnd: false });
    else await updateFlow(tx, flow.uuid, { abortRequested: error });
    return true;
  });
  if (isStopped) context.nudge(nodeUuid);
  return isStopped;
}

function isBeside(flow: Pick<FlowRow, 'kind'> | undefined): boolean {
  return flow !== undefined && Object.hasOwn(flowKinds, flow.kind) && isBesideStates(flowKinds[flow.kind]);
}
