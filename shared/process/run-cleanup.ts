import type { Run, RunOptions, RunResult } from '#shared/process/run.ts';

/** Longer than an unmount takes that writes back what is cached, and than a disk takes to answer. */
const cleanupTimeoutMs = 30_000;

/**
 * Runs what must be undone whatever happens. A `run` that carries the signal of a stopped agent kills its programs at
 * once: nothing could be cleaned up with it, and a disk would keep its mount or its password.
 * @throws AppError as `run`, but never `aborted`.
 */
export function runCleanup(
  run: Run,
  command: string,
  args: readonly string[],
  options: Omit<RunOptions, 'signal'> = {},
): Promise<RunResult> {
  return run(command, args, { timeoutMs: cleanupTimeoutMs, ...options, signal: new AbortController().signal });
}
