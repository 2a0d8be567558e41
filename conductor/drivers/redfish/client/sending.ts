import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import { triesLater } from '#conductor/drivers/redfish/client/errors.ts';
import { saysNothing } from '#conductor/drivers/redfish/client/message-meaning.ts';
import { barePath } from '#conductor/drivers/redfish/client/own-path.ts';
import type { SendOpen } from '#conductor/drivers/redfish/client/sessions.ts';
import {
  isBrokenJson,
  isPage,
  type RedfishAnswer,
  type Transport,
  type TransportRequest,
} from '#conductor/drivers/redfish/client/transport.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { backOffMs, retry } from '#shared/retry.ts';
import { retryAfterMs } from '#shared/retry-after.ts';

/** How a request is sent until the BMC has answered it: redirects, faults that pass, and what is refused only for now. */

const maxRetryAfterMs = 30_000;
const maxRedirects = 3;

export interface SenderOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly origin: string;
  readonly attempts: number;
  /** Milliseconds before the second try, doubled each time. */
  readonly retryMs: number;
  /** Milliseconds before what was refused for now is asked for again. */
  readonly pauseMs: number;
}

export function createSender(transport: Transport, options: SenderOptions): SendOpen {
  const { clock, log, origin, attempts, retryMs } = options;

  /** Repeats what is safe to repeat: reads and PATCHes always, actions only when the BMC surely did not act. */
  const sendRetried = async (request: TransportRequest): Promise<RedfishAnswer> => {
    const { method, path, signal } = request;
    const send = async (attempt: number): Promise<RedfishAnswer> => {
      const answer = await sendFollowing(request);
      if (attempt === attempts || !isTransient(request, answer)) return answer;
      const askedMs = retryAfterMs(answer.headers['retry-after'], clock.now());
      const waitMs = askedMs === undefined ? undefined : Math.min(askedMs, maxRetryAfterMs);
      const how = isPage(answer) ? 'a page' : answer.status === 200 ? 'no whole document' : answer.status;
      throw new AppError('busy', `${method} ${path} was answered with ${how}`, { details: { waitMs } });
    };
    try {
      return await retry(send, {
        clock,
        signal,
        attempts,
        passes: (error) => isTransientError(request, error),
        delayMs: (attempt, error) => askedToWaitMs(error) ?? backOffMs({ firstMs: retryMs }, attempt),
        onRetry: (err, _, waitMs) => log.debug({ err, bmc: origin, path, waitMs }, 'BMC failed; retrying'),
      });
    } catch (error) {
      throw signal?.aborted ? stoppedError(signal, `${method} ${origin}${path}`) : error;
    }
  };

  const sendFollowing = async (request: TransportRequest): Promise<RedfishAnswer> => {
    let path = request.path;
    for (let hop = 0; ; hop += 1) {
      const answer = await transport.send({ ...request, path });
      const next = answer.headers['location'];
      const moved = [301, 302, 307, 308].includes(answer.status) && next !== undefined;
      if (!moved || hop >= maxRedirects) return ofWhatWasAsked(request, path, answer);
      const url = new URL(next, `${origin}${path}`);
      // credentials go to the configured BMC only
      if (url.origin !== origin) {
        throw new AppError('bmc_error', `${request.method} ${origin}${path} redirects to ${url.origin}`);
      }
      // 307 and 308 keep the method; after the others a write only follows to its own path with or without the last slash
      const keepsMethod = answer.status === 307 || answer.status === 308;
      if (request.method !== 'GET' && !keepsMethod && bare(url.pathname) !== bare(path)) return answer;
      path = `${url.pathname}${url.search}`;
    }
  };

  /** Returns the answer, unless it is another place's: such a one does not say that what was asked for is gone, or empty. */
  const ofWhatWasAsked = ({ method, path: asked }: TransportRequest, path: string, answer: RedfishAnswer) => {
    // a system by another name is led to within the service
    const isNowhere = !path.startsWith('/redfish/') && path !== asked && [404, 410].includes(answer.status);
    if (method !== 'GET' || !(isNowhere || isRootInPlace(asked, answer))) return answer;
    const found = isNowhere
      ? `redirects to ${path}, which answers ${answer.status}`
      : 'is answered with the service root';
    throw new AppError('unavailable', `GET ${origin}${asked} ${found}`, { details: { sent: true } });
  };

  return patient(sendRetried, options);
}

/** Whether the answer is the service root in place of something else: some web servers redirect there without a login. */
function isRootInPlace(asked: string, { body }: RedfishAnswer): boolean {
  const type = typeof body === 'object' && body !== null && '@odata.type' in body ? String(body['@odata.type']) : '';
  return type.startsWith('#ServiceRoot.') && barePath(asked) !== '/redfish/v1';
}

/** Repeats what a BMC refuses only for now, for as long as the call may take: its deadline is the operator's. */
function patient(
  send: SendOpen,
  { clock, log, origin, pauseMs }: Pick<SenderOptions, 'clock' | 'log' | 'origin' | 'pauseMs'>,
): SendOpen {
  return async (request) => {
    const { method, path, signal } = request;
    let last: RedfishAnswer | undefined;
    for (let refusals = 1; ; refusals += 1) {
      try {
        if (last) await clock.sleep(pauseMs, signal);
        last = await send(request);
      } catch (error) {
        // the refusal tells more than the time that ran out
        if (last && signal?.aborted) return last;
        throw error;
      }
      const { status, body } = last;
      if (signal === undefined || refusals >= (triesLater(status, body) ?? 0)) return last;
      log.debug({ bmc: origin, method, path, status }, 'the BMC is not ready; trying again');
    }
  };
}

function bare(path: string): string {
  return path.replace(/\/$/, '');
}

function isTransient({ method }: TransportRequest, answer: RedfishAnswer): boolean {
  const { status, body } = answer;
  // 503 and 429 say that nothing was done; other server errors are repeated for reads only
  if (status === 503 || status === 429) return true;
  // what asked for a page's place may have been done, and only an action is not to be done twice
  if (method !== 'POST' && isPage(answer)) return true;
  if (method !== 'GET') return false;
  return [500, 502, 504].includes(status) || (status === 200 && (isBrokenJson(body) || saysNothing(body)));
}

function isTransientError(request: TransportRequest, error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  if (error.code === 'busy') return true;
  return error.code === 'unavailable' && (request.method !== 'POST' || error.details['sent'] === false);
}

function askedToWaitMs(error: unknown): number | undefined {
  const waitMs = error instanceof AppError ? error.details['waitMs'] : undefined;
  return typeof waitMs === 'number' ? waitMs : undefined;
}
