import { AppError, type ErrorCode } from '#shared/errors/app-error.ts';

/**
 * Resolves with the work's answer, unless it takes longer: it is not stopped then, but nobody waits for it any more.
 * @throws AppError `late.code` after `ms`.
 */
export async function inTime<T>(
  running: PromiseLike<T>,
  ms: number,
  late: { readonly code: ErrorCode; readonly message: string },
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new AppError(late.code, late.message)), ms);
  try {
    return await Promise.race([running, promise]);
  } finally {
    clearTimeout(timer);
  }
}
