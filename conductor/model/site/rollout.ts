import type { Remark } from '#conductor/model/remarks/remark.ts';
import type { HealthGate } from '#conductor/model/site/health-gate.ts';

/**
 * Rules by which a group's nodes are begun one part after another, in fields of the strategy's document that Airship does
 * not have. Absent = not asked for; a group without any begins all of its nodes at once.
 */
export interface RolloutRules {
  /** Nodes that are begun first; the others follow once those have been in service for that long. */
  readonly canary?: { readonly nodes: number; readonly stay_seconds: number };
  /** Sizes of the parts, of which one begins when all of the one before have ended; the last repeats. */
  readonly batch?: readonly NodeCount[];
  /** Most nodes that are out at once: at work, or failed in this action. */
  readonly max_unavailable?: readonly OutLimit[];
  /** Order in which nodes are begun; absent = as in the documents. */
  readonly order?: { readonly by: string; readonly manner: 'together' | 'spread' };
  readonly pause_on?: { readonly failed_nodes?: NodeCount; readonly same_cause?: number };
  readonly window?: RolloutWindow;
  /** Gates that must all be good while nodes begin, and when the group ends as a success. */
  readonly health?: readonly HealthGate[];
}

/** A number of nodes, or a share of them: `10%`, rounded down, and at least one. */
export type NodeCount = number | string;

export interface OutLimit {
  readonly nodes: NodeCount;
  /** `rack`, or `label:KEY`: the limit holds in each rack, or among nodes with the same value; absent = in the group. */
  readonly per?: string;
}

/** Time of day in which nodes may be begun. */
export interface RolloutWindow {
  /** `22:00`; of one that ends before it begins the end is on the next day. */
  readonly from: string;
  readonly to: string;
  /** Days on which it begins; absent = each. */
  readonly days?: readonly Weekday[];
  /** `Europe/Berlin`. */
  readonly zone: string;
}

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

/** State of a group's rollout, beside that of its nodes. */
export interface Rollout {
  /** By `per` of its limits: the domain of each member, in the members' order. */
  readonly domains: Readonly<Record<string, readonly string[]>>;
  /** Canaries that have to stay in service, and since when all of them are; milliseconds since 1970. */
  readonly watched?: { readonly nodes: readonly string[]; readonly since: number };
  readonly canariesPassed?: boolean;
  /** Number of nodes that the action has brought to an end, and when it became that: gates are held from then on. */
  readonly settled?: { readonly nodes: number; readonly at: number };
  /** Nodes that the action has paused for, failed ones and lost canaries: they are no reason to pause again. */
  readonly excused: readonly string[];
  /** Reason why no further node is begun now. */
  readonly waits?: Remark;
  /** Number of the action's `skip` commands that the group has followed, or that came before it began. */
  readonly skips?: number;
  /** Gates and the window that an operator has it go past, for the rest of the action. */
  readonly skippedGates?: readonly string[];
  readonly windowSkipped?: boolean;
}

/** Whether nodes of the group wait for their turn: each is deployed as it is prepared, in time of its own. */
export function isRolledOut({ canary, batch, max_unavailable: out, window, health }: RolloutRules): boolean {
  return [canary, batch, out, window, health].some((rule) => rule !== undefined);
}

/** Whether the group has a state of its rollout. */
export function hasRollout(rules: RolloutRules): boolean {
  return isRolledOut(rules) || rules.pause_on !== undefined;
}

/** Computes how many of so many nodes are meant. @param count `3` or `10%` */
export function countOf(count: NodeCount, nodes: number): number {
  if (typeof count === 'number') return count;
  return Math.max(1, Math.floor((Number.parseInt(count, 10) * nodes) / 100));
}

/** Beginning of the reason why an action is held that has paused without being asked to. */
export const pausedByItself = 'paused by itself';

/** Whether an action is held for another reason than a pause of its own: by a person, or since a restore. Pure. */
export function isPausedByPerson(held: string | null): boolean {
  return held !== null && !held.startsWith(pausedByItself);
}

/** Obstacles that an operator may have a group go past; limits of nodes that are out, and batches, are none. */
const skippable: ReadonlySet<string> = new Set([
  'rollout-window',
  'canaries-watched',
  'canary-failed',
  'canary-lost',
  'gate-unasked',
  'gate-held',
  'gate-not-good',
  'gate-bad',
]);

/** Returns the obstacle that `skip` takes out of a group's way; `undefined` = there is none that may be skipped. Pure. */
export function obstacleOf({ waits }: Pick<Rollout, 'waits'>): Remark | undefined {
  return waits && skippable.has(waits.code) ? waits : undefined;
}

/** Lists canaries that have to stay in service now, of all groups. Pure. */
export function watchedCanaries(groups: readonly { readonly rollout?: Rollout }[]): readonly string[] {
  return groups.flatMap(({ rollout }) => (rollout?.canariesPassed === true ? [] : (rollout?.watched?.nodes ?? [])));
}
