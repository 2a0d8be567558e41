import { eq } from 'drizzle-orm';
import { storedFault } from '#conductor/flows/log/step-fault.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { type FlowStepRow, flowSteps } from '#conductor/kernel/db/schema/flow.ts';

/**
 * Notes at a step that is at work that its BMC has not answered for a while, or takes the note back (`undefined`), so
 * that the cause stands there before the call's time is over. A step that is tried again has its cause already.
 */
export async function noteSilence(tx: Transaction, step: FlowStepRow, request: string | undefined): Promise<void> {
  const [now] = await tx.select().from(flowSteps).where(eq(flowSteps.uuid, step.uuid)).for('update');
  if (now?.state !== 'running' || now.retryUntil !== null) return;
  const waitingFor = request === undefined ? null : `the BMC to answer ${request}, for more than 10 s`;
  const noted = { state: 'running', waitingFor, error: null } as const;
  const fault = request === undefined ? null : storedFault({ code: 'bmc_silent' }, noted);
  await tx.update(flowSteps).set({ waitingFor, fault }).where(eq(flowSteps.uuid, step.uuid));
}
