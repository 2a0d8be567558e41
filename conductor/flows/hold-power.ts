import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { stepTitle } from '#conductor/model/planned-step.ts';
import { lockNode, updateNode } from '#conductor/nodes/node-store.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/**
 * Records, before the step acts, that the machine must not lose power: what follows a crash, an abort or a failure finds
 * it. A step that is run again begins its time again.
 */
export async function holdPower(
  context: StepContext,
  definition: Pick<ConductorStep, 'mustNotLosePower'>,
): Promise<void> {
  const forMs = definition.mustNotLosePower?.(context);
  if (forMs === undefined) return;
  const { node, step, clock } = context;
  const until = new Date(clock.now().getTime() + forMs).toISOString();
  const powerHold = { step: step.uuid, until, why: `${stepTitle(step)} may be under way` };
  await context.record((tx) => updateNode(tx, node.uuid, { powerHold }));
}

/** Ends what the step holds: before its end is recorded, so that no step after it waits for one that is over. */
export async function freePower(
  context: StepContext,
  definition: Pick<ConductorStep, 'mustNotLosePower'> | undefined,
): Promise<void> {
  if (!definition?.mustNotLosePower) return;
  const { node, step } = context;
  await context.record(async (tx) => {
    const { powerHold } = await lockNode(tx, node.uuid);
    if (powerHold?.step === step.uuid) await updateNode(tx, node.uuid, { powerHold: null });
  });
}

/** A step that may not switch power yet waits until it may. */
export function untilPowerIsFree({ node, clock, config }: StepContext, error: unknown): ConductorStepOutcome {
  const untilMs = node.powerHold ? Date.parse(node.powerHold.until) : 0;
  const restMs = Math.max(0, untilMs - clock.now().getTime());
  return {
    kind: 'again',
    reason: errorChain(error),
    timeoutMs: restMs + config.retryTimeoutMs,
    checkEveryMs: Math.min(restMs + 1, 60_000),
  };
}
