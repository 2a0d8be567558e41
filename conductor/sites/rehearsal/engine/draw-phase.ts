import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { NodeOutcome } from '#conductor/model/site/site-run.ts';
import type { CourseFlow, PhaseCourse, StepHistory } from '#conductor/sites/rehearsal/engine/course.ts';
import { pick, type Random } from '#conductor/sites/rehearsal/engine/random.ts';

/** Seconds that a flow of which nothing is known counts for: the order of things follows from it, and no time that is told. */
export const unknownSeconds = 600;

/** Drawn course of a node's phase. */
export interface DrawnPhase {
  readonly ms: number;
  /** Each flow's time is drawn from the history, or given. */
  readonly isKnown: boolean;
  readonly outcome: Exclude<NodeOutcome, { readonly state: 'working' }>;
}

interface DrawnFlow {
  readonly seconds: number;
  readonly isKnown: boolean;
  /** Step that fails. */
  readonly fails?: string;
}

/**
 * Draws how long a node's phase takes, and whether it fails: of each step one of its recorded runs, whether that succeeded
 * or failed. Pure, but for the source of numbers.
 */
export function drawPhase(course: PhaseCourse, random: Random): DrawnPhase {
  let seconds = 0;
  let isKnown = true;
  for (const flow of course.flows) {
    const drawn = drawFlow(flow, random);
    seconds += drawn.seconds;
    isKnown &&= drawn.isKnown;
    if (drawn.fails === undefined) continue;
    return { ms: seconds * 1000, isKnown, outcome: { state: 'failed', error: stepFailed(drawn.fails) } };
  }
  return { ms: seconds * 1000, isKnown, outcome: course.end };
}

/** The remark on a failure that is only drawn, or asked for; failures of one step have one cause. Pure. */
export function stepFailed(step: string): ReturnType<typeof newRemark> {
  return newRemark('flow-failed', { error: `${step} failed`, node: '' });
}

function drawFlow({ steps, assumed }: CourseFlow, random: Random): DrawnFlow {
  let seconds = 0;
  // a time that was given says nothing about failures: those are the history's still
  for (const step of steps ?? []) {
    const drawn = drawStep(step, random);
    seconds += drawn.seconds;
    if (drawn.fails) return { seconds: Math.min(seconds, assumed ?? seconds), isKnown: true, fails: step.title };
  }
  if (assumed !== undefined) return { seconds: assumed, isKnown: true };
  return steps ? { seconds, isKnown: true } : { seconds: unknownSeconds, isKnown: false };
}

function drawStep({ succeeded, failed }: StepHistory, random: Random): { seconds: number; fails: boolean } {
  const runs = succeeded.length + failed.length;
  if (runs === 0) return { seconds: 0, fails: false };
  const fails = random() * runs < failed.length;
  return { seconds: pick(fails ? failed : succeeded, random), fails };
}
