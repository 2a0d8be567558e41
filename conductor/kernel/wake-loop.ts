import { countDatabaseFault, type Metrics } from '#conductor/kernel/metrics/metrics.ts';
import { type Clock, systemClock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';

/** Wakes who rests. Rung while nobody rests, it ends the next rest at once: what has changed may not have been seen. */
export interface Bell {
  ring(): void;
  /** The next rest ends at once. */
  isRung(): boolean;
  /**
   * Until it is rung, or `ms` milliseconds; then, where rings come in bursts, the burst, if it fits into `ms`.
   * @throws the signal's reason when it aborts
   */
  rest(ms: number, signal: AbortSignal): Promise<void>;
}

export interface BellOptions {
  /** Milliseconds: one waking for all rings that come within so much. */
  readonly burstMs?: number;
}

export function createBell(clock: Pick<Clock, 'sleep'>, { burstMs = 0 }: BellOptions = {}): Bell {
  const state: { rung: boolean; sleeper: AbortController | undefined } = { rung: false, sleeper: undefined };
  return {
    ring: () => {
      state.rung = true;
      state.sleeper?.abort(new Error('rung'));
    },
    isRung: () => state.rung,
    rest: async (ms, signal) => {
      signal.throwIfAborted();
      if (!state.rung) {
        const sleeper = new AbortController();
        state.sleeper = sleeper;
        await clock.sleep(ms, AbortSignal.any([signal, sleeper.signal])).catch(() => signal.throwIfAborted());
      }
      state.sleeper = undefined;
      if (burstMs > 0) await clock.sleep(Math.min(burstMs, ms), signal);
      state.rung = false;
    },
  };
}

/** Timers of more than 24 days would fire at once. */
const longestRestMs = 2 ** 31 - 1;

export interface WakeLoopOptions {
  /**
   * One round. It re-reads what there is to do, so that a nudge that is lost costs a period and nothing else.
   * @returns milliseconds until the next round, unless it is nudged earlier
   */
  readonly run: (parts: { readonly signal: AbortSignal; readonly bell: Bell }) => Promise<number>;
  /** Called with the error of a round, and how many in a row have failed. @returns as `run` */
  readonly onError: (error: unknown, failures: number) => number;
  readonly clock?: Clock;
  /** Stops it as well. */
  readonly until?: AbortSignal;
}

/** Rounds one after the other, the first at once. */
export interface WakeLoop {
  /** There may be something to do: ends the rest, or has a round follow the one under way. Never throws. */
  nudge(): void;
  /** Resolves when it rests, and no nudge is left to be followed. */
  idle(): Promise<void>;
  /** Aborts the signal of the round under way, and waits for its end. */
  stop(): Promise<void>;
}

export function startWakeLoop({ run, onError, clock = systemClock, until }: WakeLoopOptions): WakeLoop {
  const stopping = new AbortController();
  const signal = until ? AbortSignal.any([stopping.signal, until]) : stopping.signal;
  const bell = createBell(clock);
  const state: { busy: PromiseWithResolvers<void> | undefined; failures: number } = { busy: undefined, failures: 0 };
  const roundOnce = async (): Promise<number> => {
    try {
      const restMs = await run({ signal, bell });
      state.failures = 0;
      return restMs;
    } catch (error) {
      if (signal.aborted) return 0;
      state.failures += 1;
      return onError(error, state.failures);
    }
  };
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      state.busy ??= Promise.withResolvers();
      const restMs = await roundOnce();
      if (restMs <= 0 || signal.aborted) continue;
      if (!bell.isRung()) {
        state.busy.resolve();
        state.busy = undefined;
      }
      await bell.rest(Math.min(restMs, longestRestMs), signal).catch(() => undefined);
    }
    state.busy?.resolve();
  };
  const running = loop();
  return {
    nudge: () => {
      if (signal.aborted) return;
      state.busy ??= Promise.withResolvers();
      bell.ring();
    },
    idle: async () => state.busy?.promise,
    stop: async () => {
      stopping.abort(new Error('stopping'));
      await running;
    },
  };
}

/** A background task: takes no input and re-reads the database each time. Its next period is its retry. */
export interface PeriodicTask {
  readonly name: string;
  readonly periodMs: number;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Runs the tasks until `stop`, which waits for those under way. */
export function startPeriodicTasks(
  tasks: readonly PeriodicTask[],
  context: { readonly clock: Clock; readonly log: Log; readonly metrics: Metrics },
): { stop(): Promise<void> } {
  const { clock, log, metrics } = context;
  const loops = tasks.map(({ name, periodMs, run }) => {
    const measured = async (signal: AbortSignal): Promise<void> => {
      const started = performance.now();
      let outcome: 'done' | 'failed' = 'failed';
      try {
        await run(signal);
        outcome = 'done';
        metrics.taskSucceededAt.setToCurrentTime({ task: name });
      } finally {
        metrics.taskSeconds.observe({ task: name, outcome }, (performance.now() - started) / 1000);
      }
    };
    return startWakeLoop({
      clock,
      run: async ({ signal }) => {
        await measured(signal);
        return periodMs;
      },
      onError: (error) => {
        countDatabaseFault(metrics, error);
        log.error({ task: name, err: error }, 'background task failed');
        return periodMs;
      },
    });
  });
  return {
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
