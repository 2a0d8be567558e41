import { AppError } from '#shared/errors/app-error.ts';

/**
 * A conductor lives as long as its session with PostgreSQL does (docs/high-availability.md). One whose session gives no
 * answer holds itself for dead before anybody else can.
 */
export interface Life {
  /**
   * To be asked before anything is done to the outside world.
   * @throws AppError `lease_lost` when the session has given no answer for too long, by this computer's own clocks
   */
  requireAlive(): void;
  /** Aborts when that has happened; what is begun later gets another. */
  signal(): AbortSignal;
  /** Why this conductor works on nothing just now. */
  trouble(): string | undefined;
}

/** Milliseconds without an answer after which a conductor holds itself for dead. */
export const selfFenceMs = 3_000;
/** The server ends a session that says nothing for so long: always later than its conductor has stopped. */
export const idleSessionMs = 4_000;

/** Life of a process that is alone on its database: nobody could take its work. */
export const undisputedLife: Life = {
  requireAlive: () => undefined,
  signal: () => never.signal,
  trouble: () => undefined,
};
const never = new AbortController();

export interface BeatingLife extends Life {
  /** Before a session counts (again): what was begun before a silence that was too long has ended. */
  look(): void;
  /** From now on it is dead unless it beats. */
  begin(): void;
  /** Ends all that goes by this life; what is begun later goes by another. */
  breakOff(): void;
  end(): void;
}

/** @param beats as in `WatchedSessionOptions` */
export function createLife(beats: BigInt64Array): BeatingLife {
  const state = { period: new AbortController(), timer: undefined as NodeJS.Timeout | undefined };
  const silentMs = (): number =>
    Math.max(
      Number(process.hrtime.bigint() - Atomics.load(beats, 0)) / 1e6,
      Date.now() - Number(Atomics.load(beats, 1)),
    );
  const look = (): void => {
    if (state.timer === undefined || state.period.signal.aborted || silentMs() < selfFenceMs) return;
    const message = `the session with the database has given no answer for ${selfFenceMs / 1000} s: other conductors may take over`;
    state.period.abort(new AppError('lease_lost', message));
  };
  const revive = (): void => {
    look();
    if (state.period.signal.aborted && silentMs() < selfFenceMs) state.period = new AbortController();
  };
  return {
    look,
    begin: () => {
      state.timer ??= setInterval(revive, 250);
    },
    breakOff: () => {
      state.period.abort(new AppError('lease_lost', 'the database has forgotten what was answered last'));
    },
    end: () => {
      clearInterval(state.timer);
      state.timer = undefined;
    },
    requireAlive: () => {
      look();
      state.period.signal.throwIfAborted();
    },
    signal: () => {
      revive();
      return state.period.signal;
    },
    trouble: () => {
      revive();
      const { signal } = state.period;
      return signal.aborted ? (signal.reason as Error).message : undefined;
    },
  };
}
