import { AppError } from '#shared/errors/app-error.ts';

/**
 * The intent log's language: what may follow what for one step. A `started` without an end tells a conductor that comes
 * after a crash to run the step again (every step is safe to repeat); an illegal order is a programming error.
 */

export const flowStepStates = ['pending', 'running', 'waiting', 'succeeded', 'failed', 'skipped'] as const;
export type FlowStepState = (typeof flowStepStates)[number];

export const flowEventNames = ['started', 'waiting', 'succeeded', 'failed', 'skipped'] as const;
export type FlowEvent = (typeof flowEventNames)[number];

/** `main` steps do the flow's work, `cleanup` steps make the node safe after a failure. */
export type FlowStepPhase = 'main' | 'cleanup';

/** Who put a step into the plan. */
export type FlowStepOrigin = 'core' | 'driver' | 'agent' | 'template' | 'request' | 'plugin';

const nextStates: Record<FlowStepState, Partial<Record<FlowEvent, FlowStepState>>> = {
  pending: { started: 'running', skipped: 'skipped' },
  running: { started: 'running', waiting: 'waiting', succeeded: 'succeeded', failed: 'failed', skipped: 'skipped' },
  waiting: { started: 'running', waiting: 'waiting', succeeded: 'succeeded', failed: 'failed', skipped: 'skipped' },
  succeeded: {},
  failed: {},
  skipped: {},
};

/** @throws AppError `internal` when the event can't follow the state. */
export function stateAfter(state: FlowStepState, event: FlowEvent): FlowStepState {
  const next = nextStates[state][event];
  if (!next) throw new AppError('internal', `step event '${event}' cannot follow state '${state}'`);
  return next;
}
