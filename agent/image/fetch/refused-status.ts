import { AppError } from '#shared/errors/app-error.ts';
import type { Situation } from '#shared/errors/fault-codes.ts';
import { showUrl } from '#shared/peers/show-url.ts';

/** Makes the error of a server that has answered with a status in place of the file; another try may help for some. */
export function refusedStatus(url: string, status: number): AppError {
  const passing = status >= 500 || status === 408 || status === 429;
  return new AppError(passing ? 'unavailable' : 'image_error', `${showUrl(url)} answered ${status}`, {
    situation: passing ? 'image_server' : situationOf(status),
    subject: showUrl(url),
  });
}

function situationOf(status: number): Situation {
  if (status === 401 || status === 403 || status === 407) return 'image_denied';
  return status === 404 || status === 410 ? 'image_missing' : 'image_unusable';
}
