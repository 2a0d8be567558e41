import type { FlowsContext } from '#conductor/flows/context.ts';
import { stopFlow } from '#conductor/flows/engine/finish-flow.ts';
import { findOpenFlow, letAbort, updateFlow } from '#conductor/flows/log/flow-store.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { isCleaningUp } from '#conductor/model/flows/flow-states.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * An operator's word that nothing is under way in the machine which must not lose power: what waits for that goes on, and
 * a step that is still at it may be aborted.
 * @throws AppError `conflict` when nothing holds the node's power, `node_locked`
 */
export async function releasePower(context: FlowsContext, node: NodeRow, caller: Caller): Promise<void> {
  await changeUnlocked<void, FlowRow | undefined>(
    context,
    node.uuid,
    async (tx, { powerHold }, flow) => {
      if (!powerHold || Date.parse(powerHold.until) <= context.clock.now().getTime())
        throw new AppError('conflict', `Node ${node.uuid}: no step holds its power.`);
      await updateNode(tx, node.uuid, { powerHold: null });
      const event = `power released, which was kept until ${powerHold.until} since ${powerHold.why}`;
      await writeChangeNote(tx, node.uuid, changeNote(context, caller, event));
      if (!flow) return;
      await letAbort(tx, powerHold.step);
      const { uuid, state, abortRequested: error } = flow;
      if (error !== null && !isCleaningUp(state)) await stopFlow(context, tx, flow, { error, thenEnd: false });
      await updateFlow(tx, uuid, { checkInMs: 0 });
    },
    undefined,
    (tx) => findOpenFlow(tx, node.uuid),
  );
  context.nudge(node.uuid);
}
