import { randomUUID } from 'node:crypto';
import { insertSteps } from '#conductor/flows/flow-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import type { ActionName } from '#conductor/model/action-parameters.ts';
import { type ActionStepName, actionTable } from '#conductor/model/action-table.ts';
import type { PlannedStep } from '#conductor/model/planned-step.ts';

/** The flow of an action that has been inserted before it, with all its steps. */
export async function insertSiteFlow(
  tx: Transaction,
  { actionId, name, user }: { readonly actionId: string; readonly name: ActionName; readonly user: string | null },
): Promise<void> {
  const flowUuid = randomUUID();
  await tx
    .insert(flows)
    .values({ uuid: flowUuid, siteActionId: actionId, kind: name, state: 'running', requestedBy: user });
  const { steps, closing } = actionTable[name];
  await insertSteps(tx, { flowUuid, phase: 'main', from: 1, steps: steps.map(siteStep) });
  await insertSteps(tx, { flowUuid, phase: 'cleanup', from: steps.length + 1, steps: closing.map(siteStep) });
}

function siteStep(step: ActionStepName): PlannedStep {
  const reason = "the action's own step";
  const rest = { args: {}, inBand: false, abortable: false, rebootRequested: false, reason };
  return { interface: 'site', step, priority: 0, origin: 'core', ...rest };
}
