import { AppError } from '#shared/errors/app-error.ts';
import type { Situation } from '#shared/errors/fault-codes.ts';
import { showUrl } from '#shared/peers/show-url.ts';
import { retryAfterMs } from '#shared/retry-after.ts';

/** Longest wait that a busy server may ask for; a longer one is shortened, and the try counts. */
const mostWaitMs = 120_000;

interface Refused {
  readonly status: number;
  /** The answer's `Retry-After`. */
  readonly retryAfter?: string | undefined;
  /** It gave bytes of the file before, by the same login or token. */
  readonly gaveBytes?: boolean;
}

/** Makes the error of a server that has answered with a status in place of the file; another try may help for some. */
export function refusedStatus(url: string, { status, retryAfter, gaveBytes = false }: Refused): AppError {
  const passing = status >= 500 || status === 408 || status === 429;
  const situation = passing ? 'image_server' : situationOf(status);
  const ended =
    situation === 'image_denied' && gaveBytes
      ? ', and gave bytes before: the token may have ended meanwhile, and a new deploy gets another'
      : '';
  return new AppError(passing ? 'unavailable' : 'image_error', `${showUrl(url)} answered ${status}${ended}`, {
    situation,
    subject: showUrl(url),
    details: retryAfter === undefined ? {} : { retryAfter },
  });
}

function situationOf(status: number): Situation {
  if (status === 401 || status === 403 || status === 407) return 'image_denied';
  return status === 404 || status === 410 ? 'image_missing' : 'image_unusable';
}

/**
 * Returns the milliseconds to wait before a server is asked again: as long as it asked for, two minutes at most.
 * @param leastMs where it asked for less, or for nothing
 */
export function waitMsAfter(error: unknown, now: Date, leastMs: number): number {
  let waitMs = leastMs;
  for (let current = error; current instanceof Error; current = current.cause) {
    const header = current instanceof AppError ? current.details['retryAfter'] : undefined;
    const ms = typeof header === 'string' ? retryAfterMs(header, now) : undefined;
    if (ms !== undefined) waitMs = Math.max(waitMs, Math.min(ms, mostWaitMs));
  }
  return waitMs;
}
