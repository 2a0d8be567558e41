import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { isCleaningUp, isEnded } from '#conductor/model/flows/flow-states.ts';

/** The next thing that a conductor has to do for a flow, decided only from its rows. */
export type NextAction =
  | { readonly kind: 'run'; readonly step: FlowStepRow }
  | { readonly kind: 'resume'; readonly step: FlowStepRow }
  | { readonly kind: 'give up'; readonly step: FlowStepRow }
  /** All main steps are done, or (after a failure) all clean-up steps. */
  | { readonly kind: 'finish' };

/**
 * A step that is `running` in the log was interrupted by a crash and is run again. A failed flow goes through its
 * clean-up steps, each of which is tried whatever became of the one before; those that were planned from the beginning
 * end a flow that goes well, too.
 */
export function nextAction(flow: Pick<FlowRow, 'state'>, steps: readonly FlowStepRow[], now: Date): NextAction {
  const open = steps.filter((each) => !isEnded(each.state));
  const main = isCleaningUp(flow.state) ? undefined : open.find(({ phase }) => phase === 'main');
  const step = main ?? open.find(({ phase }) => phase === 'cleanup');
  if (!step) return { kind: 'finish' };
  if (step.state === 'pending' || step.state === 'running') return { kind: 'run', step };
  const deadlines = [step.waitUntil, step.runAgain ? step.retryUntil : null];
  if (deadlines.some((deadline) => deadline && now >= deadline)) return { kind: 'give up', step };
  return { kind: step.runAgain ? 'run' : 'resume', step };
}
