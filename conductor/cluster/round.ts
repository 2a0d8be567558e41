import type { Unsettled } from '#conductor/cluster/cluster-changes.ts';
import type { Remark } from '#conductor/model/remark.ts';
import { describeRemark } from '#conductor/model/remark-words.ts';
import type { AppError } from '#shared/errors/app-error.ts';

/** One line of what a round found or did; it becomes one entry of the Status object's messageList. */
export type RoundMessage = {
  readonly message: string;
  /** The same as data, where something is decided by it. */
  readonly remark?: Remark;
  /** True for what stands in the way. */
  readonly error: boolean;
  /** The pod, label, budget or member that the message is about. */
  readonly name?: string;
  /** What `name` names, as in Kubernetes (`Pod`, `PodDisruptionBudget`, `Label`) or seed 001 (`HealthMessage`). */
  readonly kind?: string;
  /** The sentence that sums the round up, or the failure, says it too. */
  readonly summarized?: true;
};

/**
 * What one look at a cluster came to. A round does what can be done now and keeps no memory but the
 * cluster's own state: it may be repeated after a crash, and by another conductor. What cannot get
 * better by waiting is thrown as an AppError instead.
 */
export type Round =
  | { readonly state: 'done'; readonly messages: readonly RoundMessage[] }
  | {
      readonly state: 'waiting';
      /** One sentence for the operator: what is waited for, by name. */
      readonly reason: string;
      readonly messages: readonly RoundMessage[];
      readonly unsettled?: readonly Unsettled[];
      /** Waiting would not mend it: the error that ends the step, with the changes told until now. */
      readonly failure?: AppError;
    };

export function roundMessage(remark: Remark, more: Partial<RoundMessage> = {}): RoundMessage {
  return { message: describeRemark(remark), remark, error: false, ...more };
}

/** Of what was looked at side by side: done when all are. */
export function joinRounds(rounds: readonly Round[]): Round {
  const messages = rounds.flatMap((round) => round.messages);
  const reasons = rounds.flatMap((round) => (round.state === 'waiting' ? [round.reason] : []));
  if (reasons.length === 0) return { state: 'done', messages };
  const unsettled = rounds.flatMap((round) => (round.state === 'waiting' ? (round.unsettled ?? []) : []));
  return { state: 'waiting', reason: reasons.join('; '), messages, unsettled };
}
