import type { ConductorContext } from '#conductor/context.ts';
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
  const isStopped = await changeUnlocked(context, nodeUuid, async (tx) => {
    const flow = await findOpenFlow(tx, nodeUuid);
    if (!flow || !Object.hasOwn(flowKinds, flow.kind) || !isBesideStates(flowKinds[flow.kind])) return false;
    await stopFlow(context, tx, flow, { error, thenEnd: false });
    return true;
  });
  if (isStopped) context.nudge(nodeUuid);
  return isStopped;
}
