import {
  type Announce,
  afterLook,
  type ClusterChange,
  type ClusterReport,
  describeClusterChange,
  type Unsettled,
  withRecordedChanges,
} from '#conductor/cluster/cluster-changes.ts';
import { type Journal, keepJournal } from '#conductor/cluster/journal.ts';
import { createBell } from '#conductor/kernel/wake-loop.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError, errorChain, isRetryable } from '#shared/errors/app-error.ts';

/** One line of what a round found or did; it becomes one entry of the Status object's messageList. */
export type RoundMessage = {
  readonly message: string;
  /** The same as data, where something is decided by it. */
  readonly remark?: Remark;
  /** True for what stands in the way. */
  readonly error: boolean;
  /** The pod, label, budget or member that the message is about. */
  readonly name?: string;
  /**
   * Kind of the thing that `name` names, as in Kubernetes (`Pod`, `PodDisruptionBudget`, `Label`) or seed 001
   * (`HealthMessage`).
   */
  readonly kind?: string;
  /** The sentence that sums the round up, or the failure, says it too. */
  readonly summarized?: true;
};

/**
 * Outcome of one look at a cluster. A round does what can be done now and keeps no memory but the cluster's own state:
 * it may be repeated after a crash, and by another conductor. What cannot get better by waiting is thrown as an
 * AppError instead.
 */
export type Round =
  | { readonly state: 'done'; readonly messages: readonly RoundMessage[] }
  | {
      readonly state: 'waiting';
      /** One sentence for the operator: what is waited for, by name. */
      readonly reason: string;
      readonly messages: readonly RoundMessage[];
      readonly unsettled?: readonly Unsettled[];
      /** Waiting would not mend it: the error that ends the step, with the changes reported until now. */
      readonly failure?: AppError;
    };

export function roundMessage(remark: Remark, more: Partial<RoundMessage> = {}): RoundMessage {
  return { message: describeRemark(remark), remark, error: false, ...more };
}

/** Joins rounds that were made side by side: done when all are. */
export function joinRounds(rounds: readonly Round[]): Round {
  const messages = rounds.flatMap((round) => round.messages);
  const reasons = rounds.flatMap((round) => (round.state === 'waiting' ? [round.reason] : []));
  if (reasons.length === 0) return { state: 'done', messages };
  const unsettled = rounds.flatMap((round) => (round.state === 'waiting' ? (round.unsettled ?? []) : []));
  return { state: 'waiting', reason: reasons.join('; '), messages, unsettled };
}

export interface RepeatOptions {
  /** The work, for the message: `drain of node n1`. */
  readonly what: string;
  readonly timeoutMs: number;
  /** Milliseconds between two rounds, at the most. */
  readonly everyMs: number;
  /** Fires when the caller has hung up, or the conductor stops: no further round is begun. */
  readonly signal: AbortSignal;
  /** Gets all that is changed. */
  readonly journal?: Journal | undefined;
  /** Has something call back when a look is worth it before that; until the signal fires. */
  readonly watch?: (signal: AbortSignal, changed: () => void) => void;
}

/** Changes come in bursts: one look for all that come within so many milliseconds. */
const burstMs = 150;

/**
 * Repeats rounds until one is done, or time is up. Errors that may pass (`retryable`) are tried again; time is up for
 * them as for everything else.
 * @returns what all rounds have changed, and the last one's messages
 * @throws AppError `timeout` with `details.messages` and `details.cause` (`NothingBegun`: the cluster was never reached), `aborted`, or the round's own error that does not pass
 */
export async function repeatRounds(
  round: (signal: AbortSignal, announce: Announce) => Promise<Round>,
  { what, timeoutMs, everyMs, signal, watch, journal }: RepeatOptions,
): Promise<readonly RoundMessage[]> {
  const startedAt = performance.now();
  const leftMs = (): number => timeoutMs - (performance.now() - startedAt);
  const ended = new AbortController();
  const timeUp = AbortSignal.timeout(timeoutMs);
  const bell = createBell(systemClock, { burstMs });
  watch?.(AbortSignal.any([signal, ended.signal]), () => bell.ring());
  let last: Exclude<Round, { state: 'done' }> | undefined;
  let lastError: unknown;
  let report: ClusterReport = { deeds: [], messages: [] };
  const kept = journal && keepJournal(journal);
  const announce: Announce = async (deeds, outcome) => {
    report = withRecordedChanges(report, deeds, outcome);
    await kept?.announced(deeds, outcome);
  };
  try {
    do {
      try {
        const now = await round(AbortSignal.any([signal, timeUp]), announce);
        report = afterLook(report, now);
        await kept?.looked(report);
        if (now.state === 'done') return withChanges(report, now.messages);
        last = now;
        if (now.failure) throw now.failure;
        lastError = undefined;
      } catch (error) {
        if (!isRetryable(error) && !timeUp.aborted && !signal.aborted) throw describeChanges(error, report);
        if (signal.aborted) break;
        // what time's end cut off says less than what was before
        if (!timeUp.aborted || !last) lastError = error;
      }
      // what the signal's end means is said below
      await bell.rest(Math.min(everyMs, Math.max(0, leftMs())), signal).catch(() => undefined);
    } while (!signal.aborted && leftMs() > 0);
  } finally {
    ended.abort();
    // the log has what the history can't take now
    await kept?.ended(report).catch(() => undefined);
  }
  const messages = withChanges(report, last?.messages ?? []);
  if (signal.aborted) {
    throw new AppError('aborted', `${what} was stopped; what was begun goes on by itself, a repeat finishes it`, {
      cause: signal.reason,
      details: { messages },
    });
  }
  const failure: RoundMessage[] =
    lastError === undefined ? [] : [{ message: errorChain(lastError), error: true, summarized: true }];
  throw new AppError('timeout', `${what} has not ended within ${timeoutMs / 1000} s${last ? `: ${last.reason}` : ''}`, {
    cause: lastError,
    details: { messages: [...messages, ...failure], cause: last || messages.length > 0 ? 'TimeUp' : 'NothingBegun' },
  });
}

const kinds: Readonly<Partial<Record<ClusterChange['kind'], string>>> = {
  cordon: 'Node',
  label: 'Label',
  pod: 'Pod',
  kubelet: 'Node',
  node: 'Node',
};

/** Adds the changes, but for those that the last round reports itself. */
function withChanges({ deeds }: ClusterReport, messages: readonly RoundMessage[]): readonly RoundMessage[] {
  const reported = new Set(messages.map(({ message }) => message));
  const isCordoned = deeds.some(({ kind }) => kind === 'cordon');
  const changes = deeds.map((change): RoundMessage => {
    const { name, remark } = change;
    const kind = kinds[change.kind];
    return {
      message: describeClusterChange(change),
      error: false,
      name,
      ...(kind ? { kind } : {}),
      ...(remark ? { remark } : {}),
    };
  });
  return [
    ...changes.filter(({ message }) => !reported.has(message)),
    ...messages.filter((each) => !isCordoned || each.remark?.code !== 'cordoned-already'),
  ];
}

function describeChanges(error: unknown, report: ClusterReport): unknown {
  if (!(error instanceof AppError) || report.deeds.length === 0) return error;
  const { messages = [] } = error.details as { readonly messages?: readonly RoundMessage[] };
  const details = { ...error.details, messages: withChanges(report, messages) };
  return new AppError(error.code, error.message, { cause: error.cause, retryable: error.retryable, details });
}
