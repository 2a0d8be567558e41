import { AppError } from '#shared/errors/app-error.ts';

/** Bad usage: nothing was sent. `main.ts` ends with its own exit code for it. */
export function usageError(message: string, { cause }: { readonly cause?: unknown } = {}): AppError {
  const known = cause === undefined ? {} : { cause: withoutPath(cause) };
  return new AppError('invalid_argument', message, { ...known, details: { usage: true } });
}

/** Node's errors of files end with call and path, `, open '/x'`; the message before has named the file. */
function withoutPath(cause: unknown): unknown {
  if (!(cause instanceof Error) || !('path' in cause)) return cause;
  return new Error(cause.message.replace(/, \w+ '[^']*'(?: -> '[^']*')?$/, ''));
}
