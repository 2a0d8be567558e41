import { allocateRound } from '#conductor/allocations/allocate-round.ts';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import { resumeOwn, takeOverDead } from '#conductor/allocations/work-store.ts';
import type { Clock } from '#shared/clock.ts';

/**
 * Gives nodes to this conductor's allocations, in the background. The database is its queue: a kick only says that
 * there is something to look at, so that none is lost in a crash and none takes memory.
 */
export interface Allocator {
  /** Allocations, or nodes for them, may have come. Returns at once, never throws. */
  kick(): void;
  /** At start: goes on with what an earlier life of this conductor has left. */
  resume(): Promise<void>;
  /** Periodic: takes over what dead conductors have left, and looks for what a lost kick left behind. */
  lookAfter(): Promise<void>;
  /** Resolves when nothing is under way; what waits for nodes is not. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** How long nodes that are locked are tried again, and how often. */
export interface Patience {
  readonly patienceMs: number;
  readonly retryMs: number;
}
/** Timers of more than 24 days would fire at once. */
const longestSleepMs = 3_600_000;
const shortestPatienceMs = 10_000;
const usualRetryMs = 500;

export function createAllocator(options: {
  readonly context: AllocationsContext;
  readonly clock: Clock;
  readonly patience?: Patience;
}): Allocator {
  const { context, clock } = options;
  // a lease that a dead conductor has left is over by then
  const patience = (): Patience =>
    options.patience ?? {
      patienceMs: Math.max(shortestPatienceMs, context.config.leaseMs),
      retryMs: usualRetryMs,
    };
  const stopping = new AbortController();
  const memory = { hinderedSince: new Map<string, Date>(), waits: { explainedAt: undefined } };
  const state: { round: Promise<void> | undefined; again: boolean; alarm: AbortController | undefined } = {
    round: undefined,
    again: false,
    alarm: undefined,
  };

  const lookAgainIn = async (ms: number): Promise<void> => {
    const alarm = new AbortController();
    state.alarm = alarm;
    try {
      await clock.sleep(Math.min(ms, longestSleepMs), AbortSignal.any([stopping.signal, alarm.signal]));
    } catch {
      return; // stopped, or another round has set its own alarm
    }
    kick();
  };
  const runRounds = async (): Promise<void> => {
    try {
      do {
        state.again = false;
        state.alarm?.abort(new Error('looking now'));
        const nextMs = await allocateRound(context, { ...memory, ...patience() });
        if (nextMs !== undefined) void lookAgainIn(nextMs);
      } while (state.again && !stopping.signal.aborted);
    } catch (error) {
      context.log.error({ err: error }, 'a round of allocations failed; the next one goes on');
      void lookAgainIn(patience().retryMs);
    } finally {
      state.round = undefined;
    }
  };
  const kick = (): void => {
    if (stopping.signal.aborted) return;
    state.again = true;
    state.round ??= runRounds();
  };
  return {
    kick,
    resume: async () => {
      const left = await resumeOwn(context);
      if (left > 0) context.log.info({ allocations: left }, 'going on with allocations of an earlier life');
      kick();
    },
    lookAfter: async () => {
      const left = await takeOverDead(context);
      if (left > 0) context.log.info({ allocations: left }, 'allocations of dead conductors taken over');
      kick();
      await state.round;
    },
    idle: async () => {
      while (state.round) await state.round;
    },
    stop: async () => {
      stopping.abort(new Error('the conductor is stopping'));
      await state.round;
    },
  };
}
