import type { EngineContext } from '#conductor/flows/context.ts';
import { replacePendingSteps, updateFlow } from '#conductor/flows/flow-store.ts';
import type { StepRecord } from '#conductor/flows/record-outcome.ts';
import { recordStepEvent } from '#conductor/flows/step-log.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { plannedCore } from '#conductor/model/planned-step.ts';
import { holdLease } from '#conductor/nodes/node-lease.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** A ramdisk that is another one after each boot would be cleaned with for ever. */
const maxRestarts = 3;

export function mayRestartFlow(flow: FlowRow): boolean {
  return flowKinds[flow.kind].otherRamdisk === 'restarts' && flow.restarts < maxRestarts;
}

/** Automated cleaning with a ramdisk that has become another: all its steps, as the new one has them (seed 004). */
export async function restartFlow(context: EngineContext, record: StepRecord, error: unknown): Promise<void> {
  const { flow, step, node } = record;
  await context.db.transaction(async (tx) => {
    await holdLease(tx, record.lease);
    await recordStepEvent(tx, step, 'skipped', {
      conductor: context.config.conductorName,
      now: context.clock.now(),
      error: `cleaning restarts: ${errorChain(error)}`,
    });
    const gather = plannedCore(
      { interface: 'deploy', step: 'gather_steps', priority: 0 },
      'the ramdisk is another one',
    );
    await replacePendingSteps(tx, flow.uuid, [
      gather,
      ...flowKinds[flow.kind].closing.map((each) => plannedCore(each)),
    ]);
    await updateFlow(tx, flow.uuid, { restarts: flow.restarts + 1 });
  });
  context.checkpoint('recorded');
  context.log.warn({ node: node.uuid, flow: flow.uuid, err: error }, 'cleaning restarts');
}
