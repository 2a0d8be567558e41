import type { Clock } from '#shared/clock.ts';

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
