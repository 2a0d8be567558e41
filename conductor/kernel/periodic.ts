import { countDatabaseFault } from '#conductor/kernel/metrics/database-fault.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
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
  const { metrics } = context;
  const stopping = new AbortController();
  const loops = tasks.map(async (task) => {
    while (!stopping.signal.aborted) {
      const started = performance.now();
      const ended = (outcome: 'done' | 'failed'): void => {
        metrics.taskSeconds.observe({ task: task.name, outcome }, (performance.now() - started) / 1000);
        if (outcome === 'done') metrics.taskSucceededAt.setToCurrentTime({ task: task.name });
      };
      try {
        await task.run(stopping.signal);
        ended('done');
      } catch (error) {
        ended('failed');
        countDatabaseFault(metrics, error);
        context.log.error({ task: task.name, err: error }, 'background task failed');
      }
      try {
        await context.clock.sleep(task.periodMs, stopping.signal);
      } catch {
        return; // stopped while asleep
      }
    }
  });
  return {
    stop: async () => {
      stopping.abort(new Error('stopping'));
      await Promise.all(loops);
    },
  };
}
