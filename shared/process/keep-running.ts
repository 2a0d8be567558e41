import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { backOffMs, retry } from '#shared/retry.ts';

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
