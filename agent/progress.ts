import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import type { Progress } from '#shared/wire/progress.ts';

export interface ProgressReporter {
  /** For one command; cheap to call often, never throws. */
  forCommand(commandId: string): (progress: Progress) => void;
  /** The command has ended: what was not sent yet is dropped, its result says more. */
  end(commandId: string): void;
}

/** Time before the first report: a command that ends sooner needs none, as its result says it all. */
const firstReportMs = 250;

/**
 * Reports progress to Baton's conductor: at most once per `intervalMs()`, always the latest, one report in flight.
 * `intervalMs()` is `undefined` where the conductor is not Baton: then nothing is sent. Failures are only logged:
 * nothing depends on progress.
 */
export function createProgressReporter(options: {
  readonly intervalMs: () => number | undefined;
  readonly send: (commandId: string, progress: Progress) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}): ProgressReporter {
  const { clock, log, signal } = options;
  const state: { pending: { commandId: string; progress: Progress } | undefined; busy: boolean } = {
    pending: undefined,
    busy: false,
  };

  const drain = async (intervalMs: number): Promise<void> => {
    await clock.sleep(Math.min(intervalMs, firstReportMs), signal);
    while (state.pending) {
      const { commandId, progress } = state.pending;
      state.pending = undefined;
      try {
        await options.send(commandId, progress);
      } catch (error) {
        log.debug({ err: error }, 'progress report failed');
      }
      await clock.sleep(intervalMs, signal);
    }
  };

  return {
    forCommand: (commandId) => (progress) => {
      const intervalMs = options.intervalMs();
      if (intervalMs === undefined || signal.aborted) return;
      state.pending = { commandId, progress };
      if (state.busy) return;
      state.busy = true;
      drain(intervalMs)
        .catch((error: unknown) => log.debug({ err: error }, 'progress reports stopped'))
        .finally(() => {
          state.busy = false;
        });
    },
    end: (commandId) => {
      if (state.pending?.commandId === commandId) state.pending = undefined;
    },
  };
}
