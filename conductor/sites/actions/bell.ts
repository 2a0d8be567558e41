import type { Clock } from '#shared/clock.ts';

/** Wakes who rests. Rung while nobody rests, it ends the next rest at once. */
export interface Bell {
  ring(): void;
  /**
   * Until it is rung, or `ms` milliseconds.
   * @throws the signal's reason when it aborts
   */
  rest(ms: number, signal: AbortSignal): Promise<void>;
}

export function createBell(clock: Pick<Clock, 'sleep'>): Bell {
  const state: { rung: boolean; sleeper: AbortController | undefined } = { rung: false, sleeper: undefined };
  return {
    ring: () => {
      state.rung = true;
      state.sleeper?.abort(new Error('rung'));
    },
    rest: async (ms, signal) => {
      signal.throwIfAborted();
      if (!state.rung) {
        const sleeper = new AbortController();
        state.sleeper = sleeper;
        await clock.sleep(ms, AbortSignal.any([signal, sleeper.signal])).catch(() => signal.throwIfAborted());
      }
      state.sleeper = undefined;
      state.rung = false;
    },
  };
}
