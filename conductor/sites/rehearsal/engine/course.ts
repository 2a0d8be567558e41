import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import type { NodePhase } from '#conductor/model/site/site-run.ts';

/** Recorded runs of a step, whose times are drawn. */
export interface StepHistory {
  /** `deploy.write_image` */
  readonly title: string;
  /** Seconds of runs that succeeded, and of those that failed. */
  readonly succeeded: readonly number[];
  readonly failed: readonly number[];
  /** The runs are of machines of the node's model alone. */
  readonly isOfModel: boolean;
}

/** A flow that a phase begins on a node. */
export interface CourseFlow {
  readonly kind: FlowKindName;
  /** Steps of the last such flow that succeeded; absent = none is recorded, and `assumedSeconds` counts. */
  readonly steps?: readonly StepHistory[];
}

/** Course of a node's phase, as the engine decides it: flows one after another, and the end. */
export interface PhaseCourse {
  readonly flows: readonly CourseFlow[];
  /** @property remark `it was deployed already` */
  readonly end:
    | { readonly state: 'done'; readonly remark?: Remark }
    | { readonly state: 'failed'; readonly error: Remark }
    /** It waits for something whose end nobody knows, until its group's time is over. */
    | { readonly state: 'waits'; readonly doing: Remark };
}

export type NodeCourse = Readonly<Record<NodePhase, PhaseCourse>>;

/** Flows that do little more than ask or switch something. */
const quickFlows: ReadonlySet<FlowKindName> = new Set(['verify', 'teardown', 'leave_cluster']);

/** Returns the seconds that a flow counts for of which no run is recorded anywhere. */
export function assumedSeconds(kind: FlowKindName): number {
  return quickFlows.has(kind) ? 60 : 600;
}
