import { allocateRound } from '#conductor/allocations/allocate-round.ts';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import { resumeOwn, takeOverDead } from '#conductor/allocations/work-store.ts';
import { startWakeLoop, type WakeLoop } from '#conductor/kernel/wake-loop.ts';
import type { Clock } from '#shared/clock.ts';

/** Means of those who leave the choice of nodes to the allocator. */
export interface Allocating {
  readonly allocator: Pick<Allocator, 'kick'>;
}

/**
 * Gives nodes to this conductor's allocations, in the background. The database is its queue: a kick only says that
 * there is something to look at, so that none is lost in a crash and none takes memory.
 */
export interface Allocator {
  /** Allocations, or nodes for them, may have come. Returns at once, never throws. */
  kick(): void;
  /** At start: goes on with what an earlier life of this conductor has left. */
  resume(): Promise<void>;
  /** Periodic: looks for what a lost kick left behind. */
  lookAfter(): Promise<void>;
  /** Periodic: takes over what dead conductors have left. */
  takeOver(): Promise<void>;
  /** Resolves when nothing is under way; what waits for nodes is not. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** How long nodes that are locked are tried again, and how often. */
export interface Patience {
  readonly patienceMs: number;
  readonly retryMs: number;
}
const shortestPatienceMs = 10_000;
const usualRetryMs = 500;
/** A kick, or `lookAfter`, begins the next round of those that wait for nothing but nodes. */
const untilKicked = Number.POSITIVE_INFINITY;

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
  const memory = { hinderedSince: new Map<string, Date>(), waits: { explainedAt: undefined } };
  const state: { loop: WakeLoop | undefined; isStopped: boolean } = { loop: undefined, isStopped: false };
  const start = (): WakeLoop =>
    startWakeLoop({
      clock,
      run: async () => (await allocateRound(context, { ...memory, ...patience() })) ?? untilKicked,
      onError: (error) => {
        context.log.error({ err: error }, 'allocation round failed; it is retried');
        return patience().retryMs;
      },
    });
  const kick = (): void => {
    if (state.isStopped) return;
    if (state.loop) state.loop.nudge();
    else state.loop = start();
  };
  return {
    kick,
    resume: async () => {
      const left = await resumeOwn(context);
      if (left > 0) context.log.info({ allocations: left }, 'going on with allocations of an earlier life');
      kick();
    },
    lookAfter: async () => {
      kick();
      await state.loop?.idle();
    },
    takeOver: async () => {
      const left = await takeOverDead(context);
      if (left === 0) return;
      context.log.info({ allocations: left }, 'took over allocations of dead conductors');
      kick();
      await state.loop?.idle();
    },
    idle: async () => state.loop?.idle(),
    stop: async () => {
      state.isStopped = true;
      await state.loop?.stop();
    },
  };
}
