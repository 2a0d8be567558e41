import type { SessionRecord } from '#conductor/drivers/bmc-session.ts';
import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { RedfishConnection } from '#conductor/drivers/redfish/client/driver-info.ts';
import { createEndings, type Session, sessionPath } from '#conductor/drivers/redfish/client/end-session.ts';
import { httpStatusOf, statusError } from '#conductor/drivers/redfish/client/errors.ts';
import { ServiceRoot, SessionService } from '#conductor/drivers/redfish/client/schemas.ts';
import {
  isPage,
  type RedfishAnswer,
  type Transport,
  type TransportRequest,
} from '#conductor/drivers/redfish/client/transport.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** Identity of the conductor to one BMC: a session that is made when first needed, HTTP Basic, or nobody. */
export interface Credentials {
  headers(signal: AbortSignal | undefined): Promise<Record<string, string>>;
  /**
   * Gives up headers that the BMC has answered with 401 or 403, and answers whether new ones are worth a try. Their session
   * is ended before another one is made: the BMC may still have it.
   */
  refused(headers: Readonly<Record<string, string>>): boolean;
  /** Asks whether the BMC takes these headers elsewhere than at `path`: then it is that resource alone which it refuses. */
  areTaken(headers: Readonly<Record<string, string>>, path: string, signal: AbortSignal | undefined): Promise<boolean>;
  /** Why these headers are HTTP Basic, at a BMC that has sessions; `undefined` = they are not. */
  whyBasic(headers: Readonly<Record<string, string>>): unknown;
  /** Ends the session at the BMC, which has room for few; the next request makes another one. */
  close(): Promise<void>;
}

const loginTimeoutMs = 60_000;
const probeTimeoutMs = 15_000;
/** Path of a collection that every account that may log in may read (DSP0266, "Privilege model"). */
const systemsPath = '/redfish/v1/Systems';

/** Sends without credentials but with retries; never throws for a status. */
export type SendOpen = (options: TransportRequest) => Promise<RedfishAnswer>;

interface CredentialsOptions {
  readonly log: Log;
  readonly loggedIn?: (() => void) | undefined;
  readonly sessions?: SessionRecord | undefined;
}

export function createCredentials(
  connection: RedfishConnection,
  transport: Transport,
  sendOpen: SendOpen,
  options: CredentialsOptions,
): Credentials {
  const { username, password = '', authType } = connection;
  const { log } = options;
  if (username === undefined) {
    return {
      headers: async () => ({}),
      refused: () => false,
      areTaken: async () => false,
      whyBasic: () => undefined,
      close: async () => undefined,
    };
  }
  const basic = { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
  let useBasic = authType === 'basic';
  let hasService = true;
  let noSession: unknown;
  let session: Promise<Session> | undefined;
  let current: Session | undefined;
  const endings = createEndings(transport, options);
  const logInAgain = async (): Promise<Session> => {
    // first: BMCs have room for few
    await endings.settled();
    const made = await logIn(connection, sendOpen, options);
    endings.endReplacedBy(made);
    return made;
  };

  return {
    headers: async (signal) => {
      if (useBasic) return basic;
      // requests that start together share one login
      session ??= logInAgain();
      try {
        current = await unlessAborted(session, signal, `login at ${connection.origin}`);
        return { 'x-auth-token': current.token };
      } catch (error) {
        if (signal?.aborted) throw error;
        session = undefined;
        const status = httpStatusOf(error);
        if (authType === 'session' || status === undefined || status === 401) throw error;
        log.info({ bmc: connection.origin, status }, 'no Redfish session available, using HTTP Basic');
        useBasic = true;
        hasService = errorCode(error) !== 'not_supported';
        noSession = hasService ? error : undefined;
        return basic;
      }
    },
    refused: (headers) => {
      if (headers['x-auth-token'] === undefined) {
        // what kept a session from being made may be over, and many BMCs don't take HTTP Basic
        const mayBeMade = authType === 'auto' && useBasic && hasService;
        useBasic &&= !mayBeMade;
        return mayBeMade;
      }
      if (current && headers['x-auth-token'] === current.token) {
        endings.end(current);
        session = undefined;
        current = undefined;
      }
      return true;
    },
    areTaken: (headers, path, signal) => {
      const own = current?.token === headers['x-auth-token'] ? current?.place?.path : undefined;
      const places = [...(own === undefined ? [] : [own]), systemsPath].filter((place) => place !== path);
      return isAnyShown(places, sendOpen, headers, signal);
    },
    whyBasic: (headers) => (headers['authorization'] === undefined ? undefined : noSession),
    close: async () => {
      // one that is being made, or whose caller did not wait for it, is a session at the BMC as well
      const ended = current ?? (await session?.catch(() => undefined));
      session = undefined;
      current = undefined;
      if (ended) endings.end(ended);
      await endings.settled();
    },
  };
}

async function logIn(
  { origin, username = '', password = '' }: RedfishConnection,
  sendOpen: SendOpen,
  { loggedIn, sessions }: CredentialsOptions,
): Promise<Session> {
  // several requests may wait for this login, so none of them may take it down with its own signal
  const signal = AbortSignal.timeout(loginTimeoutMs);
  const sessionsPath = await findSessionsPath(sendOpen, signal);
  const what = `login at ${origin}`;
  if (sessionsPath === undefined) {
    throw new AppError('not_supported', `${what}: the BMC has no session service`, { details: { status: 404 } });
  }
  const body = { UserName: username, Password: password };
  const answer = await sendOpen({ method: 'POST', path: sessionsPath, body, signal });
  if (answer.status >= 300) throw statusError(what, answer.status, { body: answer.body, username });
  const token = answer.headers['x-auth-token'];
  if (token === undefined)
    throw new AppError('bmc_error', `${what} gave no X-Auth-Token`, { details: { status: 501 } });
  loggedIn?.();
  const path = sessionPath(answer, sessionsPath, origin);
  if (path === undefined) return { token, place: undefined };
  const place = { origin, path, username };
  // should a BMC's path tell the token, it is kept nowhere
  if (!path.includes(token)) await sessions?.opened(place);
  return { token, place };
}

/** Asks whether the BMC shows one of the places to a request with these headers; where it does not answer, it does not. */
async function isAnyShown(
  places: readonly string[],
  sendOpen: SendOpen,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const limit = AbortSignal.timeout(probeTimeoutMs);
  const within = signal ? AbortSignal.any([signal, limit]) : limit;
  for (const path of places) {
    const answer = await sendOpen({ method: 'GET', path, headers, signal: within }).catch(() => undefined);
    if (answer && answer.status < 300 && !isPage(answer)) return true;
  }
  return false;
}

/**
 * Where sessions are made: `Links.Sessions` of the root, else the SessionService's; the usual path when the root can't
 * be read. `undefined` when the root names neither: such a BMC answers 401 to a login, too, as to everything.
 */
async function findSessionsPath(sendOpen: SendOpen, signal: AbortSignal): Promise<string | undefined> {
  const usual = '/redfish/v1/SessionService/Sessions';
  const get = (path: string): Promise<RedfishAnswer> => sendOpen({ method: 'GET', path, signal });
  const root = ServiceRoot.safeParse((await get('/redfish/v1/')).body);
  if (!root.success) return usual;
  const linked = root.data.Links?.Sessions?.['@odata.id'];
  if (linked !== undefined) return linked;
  const servicePath = root.data.SessionService?.['@odata.id'];
  if (servicePath === undefined) return undefined;
  // many services want credentials for this one; then the path is guessed from the service's own
  const service = SessionService.safeParse((await get(servicePath)).body);
  return (service.success && service.data.Sessions?.['@odata.id']) || `${servicePath.replace(/\/$/, '')}/Sessions`;
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined, what: string): Promise<T> {
  if (!signal) return promise;
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(stoppedError(signal, what));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
