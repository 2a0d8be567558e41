import type { TLSSocket } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { readAccount, type SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { commandTimeoutMs } from '#conductor/networks/switches/command-line/command-line.ts';
import { requireEndpoint } from '#conductor/networks/switches/command-line/endpoint.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { urlHost } from '#shared/peers/address-ranges.ts';
import { askPeer, type PeerAnswer, type PeerRequest } from '#shared/peers/ask-peer.ts';

/** One connection to a switch's HTTPS server, whose certificate was looked at before anything secret is sent. */
export interface HttpsClient {
  readonly username: string;
  readonly password: string;
  /** Basic login of each request, where the switch has no sessions. */
  readonly basic: string;
  /**
   * @throws AppError `switch_error` for another certificate or a refused login, which is not tried again by itself;
   * `unavailable`, `timeout` and `aborted` close it: the request may or may not have been done.
   */
  ask(request: HttpsRequest, signal: AbortSignal | undefined): Promise<PeerAnswer>;
  isClosed(): boolean;
  close(): void;
}

export interface HttpsRequest extends Pick<PeerRequest, 'method' | 'headers'> {
  readonly path: string;
  /** JSON, unless it is text. */
  readonly body?: unknown;
  /** Within a session, which a restart of the switch ends. */
  readonly inSession?: true;
}

const connectTimeoutMs = 10_000;
/** Switches end idle connections after a minute or more; a request on one that was just ended can't be repeated blindly. */
const keepAliveMs = 5_000;

export async function openHttps(access: SwitchAccess): Promise<HttpsClient> {
  const { endpoint, login } = access;
  const { host, port } = requireEndpoint(endpoint, ['https']);
  const [account, ca] = await Promise.all([login && readAccount(login), login?.certificateAuthority?.()]);
  if (!login || account?.password === undefined) {
    throw new AppError('invalid_argument', `switch ${endpoint} has no credential, nor username and password_file`);
  }
  const { username, password } = account;
  const agent = connectTo(endpoint, login.certificate, ca);
  const state = { isClosed: false };
  const close = (): void => {
    state.isClosed = true;
    void agent.destroy();
  };
  return {
    username,
    password,
    basic: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    ask: async ({ method, path, headers, body, inSession }, signal) => {
      try {
        const answer = await askPeer('switch', `https://${urlHost(host)}:${port}${path}`, {
          who: `switch ${endpoint}`,
          method,
          headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
          body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
          dispatcher: agent,
          signal,
          timeoutMs: commandTimeoutMs,
        });
        return requireWelcome(answer, endpoint, username, inSession);
      } catch (cause) {
        if (cause instanceof AppError && !cause.retryable) throw cause;
        close();
        if (cause instanceof AppError) throw cause;
        if (signal?.aborted) throw new AppError('aborted', `a request to switch ${endpoint} was stopped`, { cause });
        if ((cause as Error).name === 'TimeoutError') {
          throw new AppError(
            'timeout',
            `switch ${endpoint} did not answer in ${commandTimeoutMs / 1000} s: ${method} ${path}`,
          );
        }
        throw new AppError('unavailable', `the connection to switch ${endpoint} failed`, { cause });
      }
    },
    isClosed: () => state.isClosed,
    close,
  };
}

function requireWelcome(
  answer: PeerAnswer,
  endpoint: string,
  username: string,
  inSession: true | undefined,
): PeerAnswer {
  const { status } = answer;
  if (status === 401 && inSession) throw new AppError('unavailable', `switch ${endpoint} has ended the session`);
  if (status === 401 || status === 403) {
    throw new AppError('switch_error', `switch ${endpoint} refused the login of ${username} (HTTP ${status})`, {
      situation: 'switch_login',
    });
  }
  if (status === 429 || status === 503) {
    throw new AppError('unavailable', `switch ${endpoint} has no session left, or is starting (HTTP ${status})`);
  }
  return answer;
}

function connectTo(endpoint: string, pinned: string | undefined, ca: string | undefined): Agent {
  const connect = buildConnector({
    allowH2: false,
    timeout: connectTimeoutMs,
    maxCachedSessions: 0, // a resumed one shows no certificate
    rejectUnauthorized: false, // looked at below
    ...(ca === undefined ? {} : { ca }),
  });
  return new Agent({
    connections: 1,
    allowH2: false,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    headersTimeout: commandTimeoutMs,
    bodyTimeout: commandTimeoutMs,
    connect: (target, callback) =>
      connect(target, (...[error, socket]) => {
        if (error) return callback(error, null);
        const fault = certificateFault(endpoint, socket as TLSSocket, pinned);
        if (!fault) return callback(null, socket);
        socket.destroy();
        return callback(fault, null);
      }),
  });
}

function certificateFault(endpoint: string, socket: TLSSocket, pinned: string | undefined): AppError | undefined {
  const shown = socket.getPeerX509Certificate()?.fingerprint256;
  if (pinned === undefined && socket.authorized) return undefined;
  if (pinned !== undefined && shown?.replaceAll(':', '') === pinned.replaceAll(':', '').toUpperCase()) return undefined;
  return new AppError(
    'switch_error',
    pinned === undefined
      ? `switch ${endpoint} shows the certificate ${shown}, which no known authority vouches for (${String(socket.authorizationError)}): ` +
          `nothing was sent; name its ca_file, or compare with what its console says and write certificate: ${shown}`
      : `switch ${endpoint} shows the certificate ${shown}, the networks file has ${pinned}: nothing was sent; write the new ` +
          'one if the switch was given another, else somebody is in between',
  );
}
