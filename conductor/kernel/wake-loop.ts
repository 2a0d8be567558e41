import { countDatabaseFault, type Metrics } from '#conductor/kernel/metrics/metrics.ts';
import { type Clock, systemClock } from '#shared/clock.ts';
import { AppError, type ErrorCode, errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { backOffMs, retry } from '#shared/retry.ts';

/**
 * Resolves with the work's answer, unless it takes longer: it is not stopped then, but nobody waits for it any more.
 * @throws AppError `late.code` after `ms`.
 */
export async function inTime<T>(
  running: PromiseLike<T>,
  ms: number,
  late: { readonly code: ErrorCode; readonly message: string },
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new AppError(late.code, late.message)), ms);
  try {
    return await Promise.race([running, promise]);
  } finally {
    clearTimeout(timer);
  }
}

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

/** A program that runs as long as the conductor does. */
export interface Service<Process> {
  /** `PostgreSQL` */
  readonly name: string;
  /** Resolves when it works. */
  readonly start: () => Promise<Process>;
  /** Resolves when it has ended, with what is known of the cause; rejects when the signal aborts. */
  readonly whenGone: (running: Process, signal: AbortSignal) => Promise<string | undefined>;
  readonly end: (running: Process) => Promise<void>;
  readonly log: Log;
}

export interface KeptService {
  /** Why it does not run just now; `undefined` while it does. */
  trouble(): string | undefined;
  /** Ends it, for good. */
  close(): Promise<void>;
}

const shortestPauseMs = 100;
const longestPauseMs = 10_000;
/** One that ends before is started again after a pause that grows. */
const livedWellMs = 60_000;

/** Looks at the process until `close`; when it ends by itself, it is started again, with pauses that grow. */
export function keepRunning<Process>(service: Service<Process>, first: Process): KeptService {
  const { name, log } = service;
  const closing = new AbortController();
  const state: { running: Process | undefined; trouble: string | undefined } = { running: first, trouble: undefined };
  let failures = 0;
  const nextPauseMs = (): number => {
    failures += 1;
    return backOffMs({ firstMs: shortestPauseMs, mostMs: longestPauseMs }, failures);
  };
  const restart = async (): Promise<void> => {
    state.running = await retry(service.start, {
      signal: closing.signal,
      delayMs: nextPauseMs,
      onRetry: (error, _, nextTryMs) => {
        state.trouble = errorChain(error);
        log.error({ err: error, nextTryMs }, `${name} does not start`);
      },
    });
    state.trouble = undefined;
    log.info(`${name} runs again`);
  };
  const watch = async (): Promise<void> => {
    while (state.running !== undefined && !closing.signal.aborted) {
      const since = performance.now();
      const cause = await service.whenGone(state.running, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return;
      state.running = undefined;
      state.trouble = `${name} ended${cause === undefined ? '' : ` (${cause})`}; it is being started again`;
      log.error({ cause }, `${name} exited unexpectedly and is restarted`);
      if (performance.now() - since > livedWellMs) failures = 0;
      else await systemClock.sleep(nextPauseMs(), closing.signal).catch(() => undefined);
      await restart().catch(() => undefined); // closing
    }
  };
  const watching = watch();
  return {
    trouble: () => state.trouble,
    close: async () => {
      closing.abort();
      await watching;
      if (state.running !== undefined) await service.end(state.running);
    },
  };
}
