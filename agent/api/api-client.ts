import { Agent } from 'undici';
import { z } from 'zod';
import { createInTime } from '#agent/api/in-time.ts';
import { type Microversion, microversions, parseMicroversion } from '#agent/api/microversion.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';

export interface ApiAnswer {
  readonly status: number;
  /** Parsed JSON, or `undefined` for an empty or unreadable body. */
  readonly body: unknown;
}

interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** From the root: `/v1/lookup?addresses=…` */
  readonly path: string;
  readonly version?: Microversion;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The conductor's API as the agent uses it. */
export interface ApiClient {
  /**
   * Any HTTP answer, whatever its status.
   * @throws AppError `unavailable` when none of the API's addresses answers.
   */
  request(request: ApiRequest): Promise<ApiAnswer>;
  /** The newest version the API speaks; asked for until it has answered once. @throws as `request` does */
  version(): Promise<Microversion>;
  /** Milliseconds that our clock is behind the API's, by its latest answer's `Date`; `undefined` before there is one. */
  clockErrorMs(): number | undefined;
  /** The address that answered last, or the first one. */
  currentUrl(): string;
  close(): Promise<void>;
}

const VersionDocument = z.object({ default_version: z.object({ version: z.string() }) });

/**
 * A client over a list of API addresses: on a connection error the next one is tried, and the one that worked comes
 * first from then on (agent-protocol.md §2.1).
 */
export function createApiClient(options: {
  readonly urls: readonly string[];
  readonly insecure: boolean;
  readonly requestTimeoutMs: number;
  readonly globalRequestId?: string | undefined;
  /** Overrides discovery. */
  readonly apiVersion?: string | undefined;
  readonly log: Log;
  readonly now?: () => Date;
  /** Sets the machine's clock forward to a time that nobody vouches for; absent where the clock is not ours. */
  readonly raiseClock?: ((time: Date) => Promise<void>) | undefined;
}): ApiClient {
  const urls = [...options.urls];
  const now = options.now ?? (() => new Date());
  const dispatcher = new Agent({ connect: { rejectUnauthorized: !options.insecure } });
  const known: { version: Microversion | undefined; clockErrorMs: number | undefined } = {
    version: parseMicroversion(options.apiVersion),
    clockErrorMs: undefined,
  };

  const requestFrom = async (url: string, { method, path, version, headers, body }: ApiRequest): Promise<ApiAnswer> => {
    const answer = await askPeer('conductor', `${url}${path}`, {
      who: 'the conductor',
      method,
      dispatcher,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...headers,
        ...(version === undefined ? {} : { 'x-openstack-ironic-api-version': `1.${version}` }),
        ...(options.globalRequestId ? { 'x-openstack-request-id': options.globalRequestId } : {}),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      timeoutMs: options.requestTimeoutMs,
    });
    const time = Date.parse(String(answer.headers['date']));
    if (!Number.isNaN(time)) known.clockErrorMs = time - now().getTime();
    return { status: answer.status, body: answer.body };
  };

  const askInTime = createInTime({ now, raiseClock: options.raiseClock, timeoutMs: options.requestTimeoutMs });

  const send = async (apiRequest: ApiRequest): Promise<ApiAnswer> => {
    const failures: unknown[] = [];
    for (const url of urls) {
      try {
        const answer = await askInTime(url, () => requestFrom(url, apiRequest));
        if (url !== urls[0]) urls.unshift(...urls.splice(urls.indexOf(url), 1));
        return answer;
      } catch (cause) {
        options.log.debug({ err: cause, url }, 'the API did not answer');
        failures.push(cause);
      }
    }
    const path = apiRequest.path.split('?')[0];
    throw new AppError('unavailable', `${apiRequest.method} ${path} at ${options.urls.join(', ')}`, {
      cause: failures.length === 1 ? failures[0] : new AggregateError(failures),
    });
  };

  return {
    request: send,
    version: async () => {
      known.version ??= readVersion(await send({ method: 'GET', path: '/' }));
      return known.version;
    },
    clockErrorMs: () => known.clockErrorMs,
    currentUrl: () => urls[0] ?? '',
    close: () => dispatcher.destroy(),
  };
}

function readVersion(answer: ApiAnswer): Microversion {
  // a load balancer without a conductor behind it knows no versions: without one, this boot would get no token
  if (answer.status >= 500)
    throw new AppError('unavailable', `ask for the API's version: it answered ${answer.status}`);
  const parsed = VersionDocument.safeParse(answer.body);
  return (
    (answer.status === 200 && parsed.success ? parseMicroversion(parsed.data.default_version.version) : undefined) ??
    microversions.assumed
  );
}
