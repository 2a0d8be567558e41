import { countDatabaseFault } from '#conductor/kernel/metrics/database-fault.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import { startWakeLoop } from '#conductor/kernel/wake-loop.ts';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';

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
