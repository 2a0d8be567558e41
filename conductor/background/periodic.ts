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
  context: { readonly clock: Clock; readonly log: Log },
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const loops = tasks.map(async (task) => {
    while (!stopping.signal.aborted) {
      try {
        await task.run(stopping.signal);
      } catch (error) {
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
