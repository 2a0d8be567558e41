import { AppError } from '#shared/errors/app-error.ts';

/**
 * Returns whether an error refuses what was asked for: one of the database, or of the program, is no answer to a request.
 */
export function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && error.code !== 'database_error';
}
