import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { NodeOutcome } from '#conductor/model/site/site-run.ts';
import {
  assumedSeconds,
  type CourseFlow,
  type PhaseCourse,
  type StepHistory,
} from '#conductor/sites/rehearsal/engine/course.ts';
import { pick, type Random } from '#conductor/sites/rehearsal/engine/random.ts';

/** Drawn course of a node's phase. */
export interface DrawnPhase {
  readonly ms: number;
  /** Each flow's time is drawn from the history. */
  readonly isKnown: boolean;
  readonly outcome: Exclude<NodeOutcome, { readonly state: 'working' }>;
}

interface DrawnFlow {
  readonly seconds: number;
  readonly isKnown: boolean;
  /** Step that fails, or the flow. */
  readonly fails?: string;
}

/** Longer than any group's time: what waits for so long is broken off. */
const endlessMs = 100 * 365 * 24 * 3600 * 1000;

/**
 * Draws how long a node's phase takes, and whether it fails: of each step one of its recorded runs, whether that succeeded
 * or failed. Pure, but for the source of numbers.
 * @param failsAt `deploy`, a kind of flow or a step: there it fails, if not before
 */
export function drawPhase(course: PhaseCourse, random: Random, failsAt?: string): DrawnPhase {
  let seconds = 0;
  let isKnown = true;
  for (const flow of course.flows) {
    const drawn = drawFlow(flow, random, failsAt);
    seconds += drawn.seconds;
    isKnown &&= drawn.isKnown;
    if (drawn.fails === undefined) continue;
    return { ms: seconds * 1000, isKnown, outcome: stepFailed(drawn.fails) };
  }
  const { end } = course;
  if (end.state === 'waits') return { ms: endlessMs, isKnown, outcome: { state: 'failed', error: end.doing } };
  const isAsked = failsAt === 'prepare' || failsAt === 'deploy';
  return { ms: seconds * 1000, isKnown, outcome: isAsked ? stepFailed(failsAt) : end };
}

/** Makes the outcome of a failure that is drawn, or asked for; failures of one step have one cause. */
function stepFailed(step: string): DrawnPhase['outcome'] {
  return { state: 'failed', error: newRemark('flow-failed', { error: `${step} failed`, node: '' }) };
}

function drawFlow({ kind, steps }: CourseFlow, random: Random, failsAt: string | undefined): DrawnFlow {
  let seconds = 0;
  for (const step of steps ?? []) {
    const drawn = drawStep(step, random);
    seconds += drawn.seconds;
    if (drawn.fails || step.title === failsAt) return { seconds, isKnown: true, fails: step.title };
  }
  const fails = kind === failsAt ? { fails: kind } : {};
  return steps ? { seconds, isKnown: true, ...fails } : { seconds: assumedSeconds(kind), isKnown: false, ...fails };
}

function drawStep({ succeeded, failed }: StepHistory, random: Random): { seconds: number; fails: boolean } {
  const runs = succeeded.length + failed.length;
  if (runs === 0) return { seconds: 0, fails: false };
  const fails = random() * runs < failed.length;
  return { seconds: pick(fails ? failed : succeeded, random), fails };
}
