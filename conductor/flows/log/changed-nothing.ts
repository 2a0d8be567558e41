import type { StepContext } from '#conductor/flows/step-context.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * Marks the refusals of what a step does first as having changed nothing (`hasChangedNothing`). A run before this one may
 * have acted: its refusals are not marked.
 */
export async function markRefusals<T>(
  { isRepeated }: Pick<StepContext, 'isRepeated'>,
  act: () => T | Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const isRefusal = ['invalid_argument', 'conflict'].includes(errorCode(error));
    if (isRepeated || !(error instanceof AppError) || !isRefusal) throw error;
    const { code, message, cause, retryable, details, situation, subject } = error;
    const marked = { ...details, changedNothing: true };
    throw new AppError(code, message, { cause, retryable, details: marked, situation, subject });
  }
}

/** Returns whether a step has said positively that it failed before it acted. */
export function hasChangedNothing(error: unknown): boolean {
  return error instanceof AppError && error.details['changedNothing'] === true;
}
