/** Time as a capability, so that tests decide what time it is. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/**
 * Resolves after every timer that is overdue has run. A process that was paused (SIGSTOP, a frozen virtual machine)
 * first goes on with the answers that came in meanwhile, and only then learns from its timers that its time is over: who
 * waits here before acting on the outside world learns it in time.
 */
export function overdueTimers(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
