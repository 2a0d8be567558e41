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
  /** Maker and product of the machine, as it was inspected last; absent = not known. */
  readonly model?: string;
  /** Steps of the last such flow that succeeded; absent = none is recorded, and nobody knows how long it takes. */
  readonly steps?: readonly StepHistory[];
  /** Seconds that the operator has given in place of the history. */
  readonly assumed?: number;
}

/** Course of a node's phase, as the engine decides it: flows one after another, and the end. */
export interface PhaseCourse {
  readonly flows: readonly CourseFlow[];
  /** @property remark `it was deployed already` */
  readonly end:
    | { readonly state: 'done'; readonly remark?: Remark }
    | { readonly state: 'failed'; readonly error: Remark };
}

export type NodeCourse = Readonly<Record<NodePhase, PhaseCourse>>;
