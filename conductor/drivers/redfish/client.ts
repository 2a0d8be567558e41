import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { RedfishConnection } from '#conductor/drivers/redfish/driver-info.ts';
import { statusError, triesLater } from '#conductor/drivers/redfish/errors.ts';
import { requireOwnPath } from '#conductor/drivers/redfish/own-path.ts';
import { createCredentials, type SendOpen } from '#conductor/drivers/redfish/sessions.ts';
import {
  createTransport,
  isBrokenJson,
  type RedfishAnswer,
  type TransportRequest,
} from '#conductor/drivers/redfish/transport.ts';
import { type Clock, overdueTimers } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';
import { backOffMs, retry } from '#shared/retry.ts';

export interface RedfishClientOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds to connect and to answer one request. */
  readonly connectMs?: number;
  readonly answerMs?: number;
  /** How often a request is tried when the BMC is busy or away; default 5. */
  readonly attempts?: number;
  /** Milliseconds before the second try, doubled each time; default 500. */
  readonly retryMs?: number;
  /** Where BMCs may be; default: anywhere. */
  readonly outbound?: OutboundRules | undefined;
  /** Called when the BMC has taken the account's password. */
  readonly loggedIn?: (() => void) | undefined;
}

/** Requests to one BMC, authenticated and retried; all nodes behind the BMC share it. */
export interface RedfishClient {
  readonly origin: string;
  /**
   * @throws AppError `bmc_error` (with `details.status`) for a status of 400 or above, `unavailable` when the BMC is busy
   * or away even after retries, `timeout`, `aborted`.
   */
  request(options: TransportRequest): Promise<RedfishAnswer>;
  /** The headers that say who we are, for what is not a request of this client. */
  login(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Ends the session; what is still under way goes on by HTTP Basic. */
  endSession(): Promise<void>;
  /** Ends session and connections. */
  close(): Promise<void>;
}

const maxRetryAfterMs = 30_000;
const maxRedirects = 3;

export function createRedfishClient(connection: RedfishConnection, options: RedfishClientOptions): RedfishClient {
  const { clock, log, attempts = 5, retryMs = 500 } = options;
  const limits = { connectMs: options.connectMs ?? 10_000, answerMs: options.answerMs ?? 30_000 };
  const transport = createTransport(connection, limits, options.outbound);

  /** Repeats what is safe to repeat: reads and PATCHes always, actions only when the BMC surely did not act. */
  const sendRetried = async (request: TransportRequest): Promise<RedfishAnswer> => {
    const { method, path, signal } = request;
    const send = async (attempt: number): Promise<RedfishAnswer> => {
      const answer = await sendFollowing(request);
      if (attempt === attempts || !isTransient(request, answer)) return answer;
      const waitMs = retryAfterMs(answer.headers['retry-after'], clock.now());
      const how = answer.status === 200 ? 'half a document' : answer.status;
      throw new AppError('busy', `${method} ${path} was answered with ${how}`, { details: { waitMs } });
    };
    try {
      return await retry(send, {
        clock,
        signal,
        attempts,
        passes: (error) => isTransientError(request, error),
        delayMs: (attempt, error) => askedToWaitMs(error) ?? backOffMs({ firstMs: retryMs }, attempt),
        onRetry: (err, _, waitMs) => log.debug({ err, bmc: connection.origin, path, waitMs }, 'BMC failed; retrying'),
      });
    } catch (error) {
      throw signal?.aborted ? stoppedError(signal, `${method} ${connection.origin}${path}`) : error;
    }
  };

  const sendFollowing = async (request: TransportRequest): Promise<RedfishAnswer> => {
    let path = request.path;
    for (let hop = 0; ; hop += 1) {
      const answer = await transport.send({ ...request, path });
      const next = answer.headers['location'];
      const moved = [301, 302, 307, 308].includes(answer.status) && next !== undefined;
      if (!moved || hop >= maxRedirects) return answer;
      const url = new URL(next, `${connection.origin}${path}`);
      // credentials go to the configured BMC only
      if (url.origin !== connection.origin) {
        throw new AppError('bmc_error', `${request.method} ${connection.origin}${path} redirects to ${url.origin}`);
      }
      // 307 and 308 keep the method; after the others a write only follows to its own path with or without the last slash
      const keepsMethod = answer.status === 307 || answer.status === 308;
      if (request.method !== 'GET' && !keepsMethod && bare(url.pathname) !== bare(path)) return answer;
      path = `${url.pathname}${url.search}`;
    }
  };

  const sendPatiently = patient(sendRetried, { clock, log, bmc: connection.origin, pauseMs: retryMs * 20 });
  const credentials = createCredentials(connection, transport, sendPatiently, { log, loggedIn: options.loggedIn });
  return {
    origin: connection.origin,
    request: async ({ path, ...rest }) => {
      const request = { ...rest, path: requireOwnPath(path, connection.origin) };
      const what = `${request.method} ${connection.origin}${request.path}`;
      for (let hasLoggedIn = false; ; ) {
        const auth = await credentials.headers(request.signal);
        if (request.method !== 'GET') await overdueTimers();
        const answer = await sendPatiently({ ...request, headers: { ...request.headers, ...auth } });
        const { status, body } = answer;
        if (status < 300 || status === 304) return answer;
        const refused = statusError(what, status, { body, username: connection.username });
        // some BMCs forbid what comes with a session that they have forgotten
        const isRefused = status === 401 || status === 403;
        if (!isRefused || hasLoggedIn || !credentials.refused(auth, status)) throw refused;
        hasLoggedIn = true;
      }
    },
    login: (signal) => credentials.headers(signal),
    endSession: () => credentials.close(),
    close: async () => {
      await credentials.close();
      await transport.close();
    },
  };
}

/** Repeats what a BMC refuses only for now, for as long as the call may take: its deadline is the operator's. */
function patient(
  send: SendOpen,
  {
    clock,
    log,
    bmc,
    pauseMs,
  }: Pick<RedfishClientOptions, 'clock' | 'log'> & { readonly bmc: string; readonly pauseMs: number },
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
      log.debug({ bmc, method, path, status }, 'the BMC is not ready; trying again');
    }
  };
}

function bare(path: string): string {
  return path.replace(/\/$/, '');
}

function isTransient({ method }: TransportRequest, { status, body }: RedfishAnswer): boolean {
  // 503 and 429 say that nothing was done; other server errors are repeated for reads only
  if (status === 503 || status === 429) return true;
  return method === 'GET' && ([500, 502, 504].includes(status) || (status === 200 && isBrokenJson(body)));
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

/** `Retry-After` in seconds or as a date, as milliseconds from now, at most half a minute. */
function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), maxRetryAfterMs);
}
