import type { SessionRecord } from '#conductor/drivers/bmc-session.ts';
import type { RedfishConnection } from '#conductor/drivers/redfish/client/driver-info.ts';
import { bmcMessage, isLoginRefused, statusError } from '#conductor/drivers/redfish/client/errors.ts';
import { saysError, saysNothing } from '#conductor/drivers/redfish/client/message-meaning.ts';
import { requireOwnPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { createSender } from '#conductor/drivers/redfish/client/sending.ts';
import { type Credentials, createCredentials } from '#conductor/drivers/redfish/client/sessions.ts';
import {
  createTransport,
  isPage,
  type RedfishAnswer,
  type TransportRequest,
} from '#conductor/drivers/redfish/client/transport.ts';
import { type Clock, overdueTimers } from '#shared/clock.ts';
import { AppError, errorCode, isRetryable } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';

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
  /** Where its sessions go on record; default: nowhere. */
  readonly sessions?: SessionRecord | undefined;
}

/** Requests to one BMC, authenticated and retried; all nodes behind the BMC share it. */
export interface RedfishClient {
  readonly origin: string;
  readonly log: Log;
  /**
   * @throws AppError `bmc_error` (with `details.status`) for a status of 400 or above, `unavailable` when the BMC is busy
   * or away even after retries, `timeout`, `aborted`.
   */
  request(options: TransportRequest): Promise<RedfishAnswer>;
  /** Whether the BMC has taken its login, and not refused it since. */
  hasAnswered(): boolean;
  /** The headers that say who we are, for what is not a request of this client. */
  login(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** Ends the session once no request is under way, then and after each that is still to come. */
  endSession(): Promise<void>;
  /** Ends session and connections. */
  close(): Promise<void>;
}

/**
 * A BMC that starts knows no account for a while; more tries might lock one whose password was changed. Half a minute is
 * too long for an operator who waits to be told so: after the second the caller knows.
 */
const logins = 3;
/** Time after a new session was refused like the one before it, in which none is given up without a look. Milliseconds. */
const inVainMs = 600_000;

export function createRedfishClient(connection: RedfishConnection, options: RedfishClientOptions): RedfishClient {
  const { clock, log, attempts = 5, retryMs = 500 } = options;
  const limits = { connectMs: options.connectMs ?? 10_000, answerMs: options.answerMs ?? 30_000 };
  const transport = createTransport(connection, limits, options.outbound);

  const pauseMs = retryMs * 20;
  const sendPatiently = createSender(transport, { clock, log, attempts, retryMs, pauseMs, origin: connection.origin });
  const state = { hasAnswered: false, isLoginTaken: false, underWay: 0, isLeaving: false };
  const loggedIn = (): void => (state.isLeaving ? undefined : options.loggedIn?.());
  const credentials = createCredentials(connection, transport, sendPatiently, { ...options, loggedIn });

  const isRightLacking = countLacks(credentials, clock);

  const ask = async (request: TransportRequest): Promise<RedfishAnswer> => {
    const what = `${request.method} ${connection.origin}${request.path}`;
    let isLoginTaken = false;
    for (let isAgain = false; ; isAgain = true) {
      const auth = await credentials.headers(request.signal);
      if (request.method !== 'GET') await overdueTimers();
      const answer = await sendPatiently({ ...request, headers: { ...request.headers, ...auth } });
      const { status, body } = answer;
      if (state.hasAnswered && isPage(answer)) {
        const message = `${what} answered ${status} with a page (it is text, not JSON): the BMC may be starting`;
        throw new AppError('unavailable', message, { details: { sent: true } });
      }
      if (request.method === 'GET' && status === 200 && bmcMessage(body) !== '' && saysNothing(body)) {
        const message = `${what} answered 200 with an error alone, which is no document: ${bmcMessage(body)}`;
        throw new AppError('unavailable', message, { details: { sent: true } });
      }
      if (['POST', 'DELETE'].includes(request.method) && status === 200 && saysError(body)) {
        throw statusError(what, status, { body, username: connection.username });
      }
      if (status < 300 || status === 304) {
        state.hasAnswered ||= typeof body !== 'string';
        state.isLoginTaken ||= !isOpen(request.path);
        return answer;
      }
      const { method, mayRepeat = method !== 'POST' } = request;
      // in its own words the service has refused it
      const isOfServer = method === 'GET' || (mayRepeat && bmcMessage(body) === '');
      const isPassing = state.hasAnswered && status >= 500 && isOfServer;
      const about = { body, username: connection.username, isPassing };
      // some BMCs forbid what comes with a session that they have forgotten
      if (status !== 401 && status !== 403) throw statusError(what, status, about);
      isLoginTaken ||= await isRightLacking(auth, request, isAgain);
      if (!isAgain && (isLoginTaken || credentials.refused(auth))) continue;
      // there is no other login
      if (!isAgain && state.isLoginTaken) isLoginTaken = await isRightLacking(auth, request, true);
      // one that starts in pieces answers 401, too
      const refused = statusError(what, status, { ...about, isLoginTaken, isPassing: isLoginTaken && status === 401 });
      const why = status === 401 && !isLoginTaken ? credentials.whyBasic(auth) : undefined;
      throw why === undefined ? refused : refusedBasic(refused, why);
    }
  };

  const askKnown = loggingInAgain(ask, { clock, pauseMs, state });

  const leave = async (): Promise<void> => {
    if (state.isLeaving && state.underWay === 0) await credentials.close();
  };

  return {
    origin: connection.origin,
    log,
    request: async ({ path, ...rest }) => {
      state.underWay += 1;
      try {
        const asked = requireOwnPath(path, connection.origin);
        return { ...(await askKnown({ ...rest, path: asked })), asked };
      } finally {
        state.underWay -= 1;
        await leave();
      }
    },
    hasAnswered: () => state.hasAnswered,
    login: (signal) => credentials.headers(signal),
    endSession: () => {
      state.isLeaving = true;
      return leave();
    },
    close: async () => {
      await credentials.close();
      await transport.close();
    },
  };
}

/** Whether a resource is shown without a login (DSP0266, "Protocol version" and "Service root request"). */
function isOpen(path: string): boolean {
  return /^\/redfish(\/v1(\/odata|\/\$metadata)?)?\/?$/.test(path);
}

type Ask = (request: TransportRequest) => Promise<RedfishAnswer>;

/**
 * Tries a login again that was taken before, once in a call. A second refusal is the caller's to know of and to try once
 * more: the third login, of whichever call, is made when its pause is over.
 */
function loggingInAgain(
  ask: Ask,
  {
    clock,
    pauseMs,
    state,
  }: { readonly clock: Clock; readonly pauseMs: number; readonly state: { hasAnswered: boolean } },
): Ask {
  const refusals = countRefusals(clock, pauseMs);
  return async (request) => {
    for (let isSecond = false; ; isSecond = true) {
      try {
        if (request.signal) await clock.sleep(refusals.restMs(), request.signal);
        const answer = await ask(request);
        refusals.forget();
        return answer;
      } catch (error) {
        if (!isLoginRefused(error) || !state.hasAnswered || !request.signal) throw error;
        if (refusals.count() === logins) {
          refusals.forget();
          state.hasAnswered = false;
          throw error;
        }
        if (isSecond) throw mayPass(error);
        if (await isOver(clock.sleep(refusals.restMs(), request.signal))) throw error;
      }
    }
  };
}

/**
 * Makes a judge of answers 401 and 403: where the BMC takes the same login elsewhere, the account lacks the right to this
 * one resource, which another login does not mend. A first refusal is worth a login, for sessions keep the rights that their
 * account had; after a login in vain, the session is looked at before it is given up.
 */
function countLacks(credentials: Credentials, clock: Clock) {
  let inVainAt = Number.NEGATIVE_INFINITY;
  return async (
    auth: Readonly<Record<string, string>>,
    { path, signal }: TransportRequest,
    isSecond: boolean,
  ): Promise<boolean> => {
    const now = clock.now().getTime();
    if (!isSecond && now - inVainAt >= inVainMs) return false;
    const isTaken = await credentials.areTaken(auth, path, signal);
    if (isTaken && isSecond) inVainAt = now;
    return isTaken;
  };
}

/** Refusals of a login that was taken before, with a pause after each, twice as long after the second. */
function countRefusals(clock: Clock, pauseMs: number) {
  let refused = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    /** Counts one more, unless it answers a login that was under way beside the last. */
    count: (): number => {
      const now = clock.now().getTime();
      if (now < nextAt) return refused;
      refused += 1;
      nextAt = now + pauseMs * refused;
      return refused;
    },
    restMs: (): number => Math.max(0, nextAt - clock.now().getTime()),
    forget: (): void => {
      refused = 0;
      nextAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** The same refusal, of a login that a BMC which starts may soon take. */
function mayPass(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message, details, cause, situation, subject } = error;
  return new AppError(code, message, { cause, details, situation, subject, retryable: true });
}

/** The refusal of HTTP Basic by a BMC that gave no session: which of the two is to be put right the cause shows. */
function refusedBasic({ message, details }: AppError, noSession: unknown): AppError {
  return new AppError(errorCode(noSession), `${message}, or the BMC takes no HTTP Basic and gave no session`, {
    cause: noSession,
    retryable: isRetryable(noSession),
    details,
  });
}

function isOver(pause: Promise<void>): Promise<boolean> {
  return pause.then(
    () => false,
    () => true,
  );
}
