import { AppError } from '#shared/errors/app-error.ts';

/** What `baton` ends with, and what a script may make of it; docs/command-line.md has the table. */
const exitCodes = {
  /** The conductor refused, or what was asked for has failed. */
  failed: 1,
  /** Bad usage, or a file or setting that can't be used: nothing was sent. */
  usage: 2,
  /** No conductor answers, or it can't answer now: the same command may succeed later. */
  unavailable: 3,
  /** The waiting has ended, not the work. */
  timeout: 4,
} as const;

export function exitCodeOf(error: unknown): number {
  if (!(error instanceof AppError)) return exitCodes.failed;
  if (error.details['usage'] === true) return exitCodes.usage;
  if (error.code === 'unavailable') return exitCodes.unavailable;
  return error.code === 'timeout' ? exitCodes.timeout : exitCodes.failed;
}
