import { type Bell, createBell } from '#conductor/kernel/bell.ts';
import { type Clock, systemClock } from '#shared/clock.ts';

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
