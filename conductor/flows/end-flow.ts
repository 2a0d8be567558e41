import { notifyRunners } from '#conductor/flows/actions/action-store.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { updateFlow } from '#conductor/flows/flow-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import { together } from '#conductor/kernel/db/together.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';

/** Ends the flow, and says in the node's history how, after how long, and whose it was. */
export async function endFlow(
  context: Pick<EngineContext, 'clock' | 'config'>,
  tx: Transaction,
  flow: FlowRow,
  end: { readonly state: 'succeeded' | 'failed' | 'aborted'; readonly error?: string },
): Promise<void> {
  const now = context.clock.now();
  const { state, error } = end;
  const ended = updateFlow(tx, flow.uuid, {
    state,
    endedAt: now,
    ...(error === undefined ? {} : { error, onHold: null }),
  });
  // its runner need not wait for its next look
  const notified = flow.actionId === null ? Promise.resolve() : notifyRunners(tx);
  const seconds = Math.max(0, Math.round((now.getTime() - flow.startedAt.getTime()) / 1000));
  const reason = error ?? flow.error;
  const about = { flow: flow.uuid, kind: flow.kind, seconds };
  const noted = addHistory(tx, {
    nodeUuid: flow.nodeUuid,
    severity: state === 'failed' ? 'ERROR' : 'INFO',
    eventType: 'flow',
    event: `${flow.kind} ${state} after ${seconds} s${state === 'succeeded' || !reason ? '' : `: ${reason}`}`,
    conductor: context.config.conductorName,
    user: flow.requestedBy ?? undefined,
    notify:
      state === 'succeeded'
        ? { type: 'node.flow_succeeded', data: about }
        : { type: 'node.flow_failed', data: { ...about, state, error: reason ?? null } },
  });
  await together([ended, notified, noted]);
}
