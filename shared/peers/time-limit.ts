/** A time in which something must have ended, and its end. */
export interface TimeLimit {
  /** Fires with a `TimeoutError` as `AbortSignal.timeout` does, or with the other signal's reason. */
  readonly signal: AbortSignal;
  /** Takes the timer away. `AbortSignal.timeout` keeps its own, and all that belongs to it, until it fires. */
  end(): void;
}

/**
 * Begins a time limit for what is done often: a fleet's BMCs are asked so many times in the minute of one limit that timers
 * would take tens of megabytes. They hold up no end of the process.
 * @param signal ends it, too
 */
export function openTimeLimit(timeoutMs: number, signal?: AbortSignal): TimeLimit {
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  }, timeoutMs);
  timer.unref();
  return {
    signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
    end: () => clearTimeout(timer),
  };
}
