import type { Remark } from '#conductor/model/remark.ts';
import type { ActionName } from '#conductor/model/site-actions.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import type { GroupStage, Miss, NodePhase, NodeStatus } from '#conductor/model/site-run.ts';

/**
 * `GET /api/v1.0/actions/{action}`: Shipyard's fields, and ours; `sites/actions/shipyard-keys.ts` has what only its client reads. Times are
 * ISO 8601.
 */
export interface ActionAnswer {
  readonly id: string;
  readonly name: ActionName;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly user: string | null;
  readonly timestamp: string;
  /** The same: Shipyard's documents call it by the one name, its client by the other. */
  readonly datetime: string;
  readonly context_marker: string;
  readonly committed_rev_id: number;
  readonly allow_intermediate_commits: boolean;
  /** Shipyard's workflow run: `baton_<name>`, and the state in Airflow's words. */
  readonly dag_id: string;
  readonly dag_status: string;
  readonly dag_execution_date: string | null;
  readonly action_lifecycle: 'Pending' | 'Processing' | 'Paused' | 'Stopping' | 'Stopped' | 'Complete' | 'Failed';
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly error: string | null;
  readonly steps: readonly ActionStepAnswer[];
  readonly notes: readonly ActionNoteAnswer[];
  /** Only of one action, not in lists. null: it has ended, or no conductor has it. */
  readonly runner?: {
    readonly conductor: string;
    readonly lease_expires_at: string | null;
    /** By the database's clock; else the conductor is silent, and another one may take over. */
    readonly lease_valid: boolean;
  } | null;
  /** The same. */
  readonly groups?: readonly ActionGroupAnswer[];
  /** Each node once, however many groups have it. */
  readonly nodes_by_status?: Readonly<Record<NodeStatus, number>>;
  readonly validations?: readonly ValidationAnswer[];
  readonly command_audit?: readonly {
    readonly command: string;
    readonly user: string | null;
    readonly datetime: string;
  }[];
}

export interface ActionStepAnswer {
  /** Its name. */
  readonly id: string;
  /** `/actions/<id>/steps/<name>` */
  readonly url: string;
  /** From 1. */
  readonly index: number;
  readonly state: StepState;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly error: string | null;
  readonly notes: readonly ActionNoteAnswer[];
}

export interface ActionNoteAnswer {
  /** A number; the notes behind it are had with `?since=`. */
  readonly note_id: string;
  readonly subject: string | null;
  readonly verbosity: number;
  readonly text: string;
  readonly at: string;
}

export interface ActionGroupAnswer {
  readonly name: string;
  readonly critical: boolean;
  readonly depends_on: readonly string[];
  readonly stage: GroupStage;
  readonly reason: string | null;
  readonly misses: readonly Miss[];
  /** Of one that has not begun: names of groups, or in words for what else; empty = its turn comes at the next beat. */
  readonly waiting_for: readonly string[];
  readonly member_count: number;
  /** With `?members=true`. */
  readonly members?: readonly string[];
  /** Of the members. */
  readonly nodes_by_status: Readonly<Record<NodeStatus, number>>;
  /** Members at work, whoever has them done. */
  readonly working: number;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

/** `GET /api/v1.0/actions/{action}/nodes`: `{nodes: [...]}` */
export interface ActionNodeAnswer {
  readonly name: string;
  readonly status: NodeStatus;
  readonly phase: NodePhase | null;
  readonly group: string | null;
  readonly doing: string | null;
  readonly reason: string | null;
  /** What `doing` says, or else `reason`, as data. */
  readonly remark: Remark | null;
  readonly since: string | null;
}

/** States of a step in Airflow's words: by `success` and `failed` its client counts. */
export type StepState = 'pending' | 'running' | 'success' | 'failed' | 'skipped';

export interface ValidationAnswer extends SiteFault {
  /** 26 digits: the place, from 1. */
  readonly id: string;
  readonly action_id: string;
  readonly validation_name: string;
  /** Level, document, path and message in a line. */
  readonly details: string;
}
