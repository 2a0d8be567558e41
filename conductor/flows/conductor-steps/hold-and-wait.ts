import { waitArgs } from '#conductor/flows/plan/step-args.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';

export const holdStep: ConductorStep = {
  interface: 'deploy',
  step: 'hold',
  description: "On request: the flow rests, without a time limit, until an operator's `unhold` (or `abort`).",
  run: () => Promise.resolve({ kind: 'hold', reason: "the operator's word (unhold)", code: 'operator_word' }),
};

function look(context: StepContext): ConductorStepOutcome {
  const { seconds } = parseStepArgs({ interface: 'deploy', step: 'wait', args: waitArgs }, context.step.args);
  const startedAt = context.step.startedAt?.getTime() ?? context.clock.now().getTime();
  if (seconds === undefined) {
    const beat = context.session?.lastHeartbeatAt?.getTime() ?? 0;
    if (beat > startedAt) return { kind: 'done' };
    return {
      kind: 'wait',
      code: 'time_wait',
      reason: 'the next heartbeat',
      timeoutMs: context.config.callbackTimeoutMs,
      checkEveryMs: 30_000,
    };
  }
  const leftMs = startedAt + seconds * 1000 - context.clock.now().getTime();
  if (leftMs <= 0) return { kind: 'done' };
  return {
    kind: 'wait',
    reason: `${seconds} s to pass`,
    code: 'time_wait',
    timeoutMs: leftMs + 60_000,
    checkEveryMs: leftMs,
  };
}

export const waitStep: ConductorStep = {
  interface: 'deploy',
  step: 'wait',
  description: 'On request: waits `seconds`, or for the next heartbeat.',
  run: (context) => Promise.resolve(look(context)),
  resume: (context) => Promise.resolve(look(context)),
};
