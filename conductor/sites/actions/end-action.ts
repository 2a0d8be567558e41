import { eq } from 'drizzle-orm';
import { updateFlow } from '#conductor/flows/flow-store.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type { FlowState } from '#conductor/model/flow-states.ts';
import { type ActionWork, record } from '#conductor/sites/actions/action-work.ts';
import { addNotes } from '#conductor/sites/actions/note-store.ts';
import { notifyOfAction } from '#conductor/sites/actions/notify-of-action.ts';
import { stopReason } from '#conductor/sites/actions/settle-run.ts';

export async function endAction(work: ActionWork, steps: readonly FlowStepRow[]): Promise<void> {
  const { context, action, lease, now } = work;
  const end = await record(work, async (tx, { state, abortRequested }) => {
    const how = judgeSteps(steps, { state, isStopped: abortRequested !== null });
    await updateFlow(tx, action.flowUuid, { ...how, endedAt: new Date(now()) });
    await tx.update(siteActions).set({ holder: null, expiresAt: null }).where(eq(siteActions.id, lease.actionId));
    const text = `${action.name} ${how.state}${how.error === null ? '' : `: ${how.error}`}`;
    await addNotes(tx, action.id, [{ verbosity: 1, text }]);
    await notifyOfAction(tx, { ...action, ...how });
    return how;
  });
  context.log.info({ action: action.id, name: action.name, ...end }, 'site action ended');
}

/** What an action comes to, or has come to before the steps that close it. Pure. */
export function judgeSteps(
  steps: readonly Pick<FlowStepRow, 'state' | 'step' | 'error'>[],
  { state, isStopped }: { readonly state: FlowState; readonly isStopped: boolean },
): { readonly state: 'succeeded' | 'failed' | 'aborted'; readonly error: string | null } {
  const failed = steps.find((step) => step.state === 'failed');
  if (state === 'running' && failed === undefined) return { state: 'succeeded', error: null };
  if (isStopped) return { state: 'aborted', error: stopReason };
  return { state: 'failed', error: failed ? `${failed.step}: ${failed.error ?? 'failed'}` : 'not all steps ran' };
}
