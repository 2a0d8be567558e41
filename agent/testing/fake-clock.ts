import type { Clock } from '#shared/clock.ts';

/** A clock whose sleeps end at once and move its time on. */
export interface InstantClock extends Clock {
  /** Milliseconds of each sleep so far. */
  readonly sleeps: readonly number[];
}

const start = Date.UTC(2026, 10, 21, 8, 0, 0);

export function createInstantClock(): InstantClock {
  const sleeps: number[] = [];
  const elapsed = { ms: 0 };
  return {
    sleeps,
    now: () => new Date(start + elapsed.ms),
    sleep: (ms, signal) => {
      signal?.throwIfAborted();
      sleeps.push(ms);
      elapsed.ms += ms;
      return Promise.resolve();
    },
  };
}

/** A clock that stands still until `advance`. */
export interface ManualClock extends Clock {
  /** Moves the time on and wakes the sleeps that are over. */
  advance(ms: number): void;
  /** Milliseconds until each sleep under way ends, as soon as there is one. */
  nextSleep(): Promise<number>;
}

export function createManualClock(): ManualClock {
  const elapsed = { ms: 0 };
  const sleepers = new Set<{ readonly until: number; wake(): void }>();
  const watchers: (() => void)[] = [];
  return {
    now: () => new Date(start + elapsed.ms),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { until: elapsed.ms + ms, wake: resolve };
        const onAbort = (): void => {
          sleepers.delete(sleeper);
          reject(signal?.reason as Error);
        };
        if (signal?.aborted) onAbort();
        else {
          sleepers.add(sleeper);
          signal?.addEventListener('abort', onAbort, { once: true });
          for (const watch of watchers.splice(0)) watch();
        }
      }),
    advance: (ms) => {
      elapsed.ms += ms;
      for (const sleeper of sleepers) {
        if (sleeper.until > elapsed.ms) continue;
        sleepers.delete(sleeper);
        sleeper.wake();
      }
    },
    nextSleep: async () => {
      if (sleepers.size === 0) await new Promise<void>((resolve) => watchers.push(resolve));
      return Math.min(...[...sleepers].map(({ until }) => until - elapsed.ms));
    },
  };
}
