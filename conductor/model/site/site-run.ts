import type { Remark } from '#conductor/model/remarks/remark.ts';
import type { Rollout, RolloutRules } from '#conductor/model/site/rollout.ts';
import { isFinal, type Transitions } from '#conductor/model/site/transitions.ts';

/**
 * A site's deployment as plain values (seed 000, DESIGN.md "Where the documents disagree"). What decides on them
 * (`decideGroups`, `judgeCriteria`, `report`) imports nothing that can wait; `sites/actions` keeps them in the database.
 */

/** The seed's words. A node is `prepared` or has ended; what it is in the middle of is its `phase`. */
export type NodeStatus = 'not_started' | 'prepared' | 'success' | 'failure';
export type NodePhase = 'prepare' | 'deploy';
export type GroupStage = 'not_started' | 'preparing' | 'prepared' | 'deploying' | 'success' | 'failure';

export const groupStages = {
  not_started: ['preparing', 'failure'],
  preparing: ['prepared', 'failure'],
  prepared: ['deploying', 'failure'],
  deploying: ['success', 'failure'],
  success: [],
  failure: [],
} as const satisfies Transitions<GroupStage>;

/** The status in which a phase takes a node, and those in which it leaves it. */
export const nodePhases = {
  prepare: { takes: 'not_started', done: 'prepared', failed: 'failure' },
  deploy: { takes: 'prepared', done: 'success', failed: 'failure' },
} as const satisfies Record<NodePhase, Record<'takes' | 'done' | 'failed', NodeStatus>>;

/** Absent = not asked for. */
export interface SuccessCriteria {
  /** 0 to 100, of the full membership; fractions are not rounded. */
  readonly percent_successful_nodes?: number;
  readonly minimum_successful_nodes?: number;
  /** Never attempted counts as failed. */
  readonly maximum_failed_nodes?: number;
}

export interface Miss {
  readonly criterion: keyof SuccessCriteria;
  readonly needed: number;
  readonly actual: number;
}

/** Values of one criterion are alternatives; absent or empty = not asked for. */
export interface Selector {
  readonly node_names?: readonly string[];
  readonly node_tags?: readonly string[];
  /** `[key, value]`. */
  readonly node_labels?: readonly (readonly [string, string])[];
  readonly rack_names?: readonly string[];
}

/** A group as the strategy's document has it, checked. */
export interface GroupDefinition extends RolloutRules {
  readonly name: string;
  readonly critical: boolean;
  readonly depends_on: readonly string[];
  readonly selectors: readonly Selector[];
  readonly success_criteria?: SuccessCriteria;
  /** Ours: how many of its nodes are at work at a time; absent = all. */
  readonly max_parallel_nodes?: number;
  /** Ours: each node is deployed as soon as it is prepared itself. */
  readonly deploy_as_prepared?: boolean;
  /** Ours: seconds for each phase, in place of the configuration's. */
  readonly prepare_timeout?: number;
  readonly deploy_timeout?: number;
}

export interface Strategy {
  /** Name of the strategy's document; `default` = made up, because there is none. */
  readonly name: string;
  /** In the document's order. */
  readonly groups: readonly GroupDefinition[];
  /** Ours; 1 = one group at a time, as the seed has it. */
  readonly max_parallel_groups: number;
}

/** A group under way. */
export interface GroupRun {
  readonly definition: GroupDefinition;
  /** All that its selectors choose, no matter which others have them. */
  readonly members: readonly string[];
  readonly stage: GroupStage;
  /** Why it failed; of one that has not ended: why it will, for its time has run out. */
  readonly reason?: string;
  readonly misses: readonly Miss[];
  /** Milliseconds since 1970; the timeouts count from there. */
  readonly prepareStartedAt?: number;
  /** Its criteria were met after prepare. */
  readonly preparedAt?: number;
  readonly deployStartedAt?: number;
  /** Absent = it begins all that it may at once, and pauses for nothing. */
  readonly rollout?: Rollout;
}

/** It has begun and not ended. */
export function isUnderWay({ stage }: Pick<GroupRun, 'stage'>): boolean {
  return stage !== 'not_started' && !isFinal(groupStages, stage);
}

/** A node under way. */
export interface NodeRun {
  readonly status: NodeStatus;
  /** At work now, on behalf of that group. */
  readonly work?: {
    readonly phase: NodePhase;
    readonly group: string;
    /** Milliseconds since 1970; where the group has a limit of nodes at work its timeouts count from there. */
    readonly startedAt?: number;
    readonly cancelling?: string;
  };
  readonly reason?: Remark;
  /** It failed in a deploy that this group had begun, which had it prepared. */
  readonly preparedFor?: string;
}

export interface SiteRun {
  /** In an order that the dependencies allow. */
  readonly groups: readonly GroupRun[];
  readonly nodes: ReadonlyMap<string, NodeRun>;
  readonly maxParallelGroups: number;
}

/** Seconds for a group's phases where it has none of its own (DeploymentConfiguration). */
export interface PhaseTimeouts {
  readonly prepare: number;
  readonly deploy: number;
  /** Beyond the deploy's, in which its nodes have to get into service; absent = nobody waits for that. */
  readonly service?: number;
}

/** The next thing to do; each is recorded before, or as, it is done. */
export type Decision =
  /** The group's turn has come, or its next phase. */
  | { readonly kind: 'enter stage'; readonly group: string; readonly stage: 'preparing' | 'prepared' | 'deploying' }
  /** It has ended: well, or by missed criteria, a timeout, a dependency. */
  | {
      readonly kind: 'end group';
      readonly group: string;
      readonly stage: 'success' | 'failure';
      readonly reason?: string;
      readonly misses: readonly Miss[];
    }
  | { readonly kind: 'begin'; readonly group: string; readonly phase: NodePhase; readonly nodes: readonly string[] }
  /**
   * The group's time has run out: the reason becomes the group's at once, which fails with it whatever its criteria once
   * nothing of its is at work. The nodes' work is broken off; each ends as a failure with that reason once it is at rest.
   * There may be none, when it was the group's waiting nodes that the time was too short for.
   */
  | {
      readonly kind: 'cancel';
      readonly group: string;
      readonly nodes: readonly string[];
      readonly reason: string;
      /** The time was the nodes' alone, and the group goes on: in a rollout a late node is a failed one. */
      readonly sparesGroup?: true;
    }
  /** Its canaries are all in service, or have been so for long enough. */
  | { readonly kind: 'canaries'; readonly group: string; readonly are: 'in service'; readonly nodes: readonly string[] }
  | { readonly kind: 'canaries'; readonly group: string; readonly are: 'passed' }
  /** So many of its nodes have come to an end: its gates must be good for their time from now on. */
  | { readonly kind: 'settled'; readonly group: string; readonly nodes: number }
  /** No further node of the group is begun for that reason; absent = for none. */
  | { readonly kind: 'wait'; readonly group: string; readonly reason?: Remark }
  /** An operator has the group go past that; absent = nothing was in its way that may be skipped. */
  | { readonly kind: 'skip'; readonly group: string; readonly skips: number; readonly past?: Remark }
  /** Too much has gone wrong: the whole action pauses until a person says how it goes on. */
  | {
      readonly kind: 'pause';
      readonly group: string;
      readonly reason: Remark;
      /** Canary that is no longer in service: another takes its place. */
      readonly lost?: string;
    };

/** Outcome of a look at a node's phase. */
export type NodeOutcome =
  /** @property doing `cleaning: deploy.erase_devices_metadata, 40 %` */
  | { readonly state: 'working'; readonly doing: Remark }
  /** @property remark `it was deployed already`; the documents may say something else since */
  | { readonly state: 'done'; readonly remark?: Remark }
  | { readonly state: 'failed'; readonly error: Remark };
