import { Agent } from 'undici';
import { z } from 'zod';
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
  const known: { version: Microversion | undefined; clockErrorMs: number | undefined; hasRaised: boolean } = {
    version: parseMicroversion(options.apiVersion),
    clockErrorMs: undefined,
    hasRaised: false,
  };

  const askFrom = async (url: string, { method, path, version, headers, body }: ApiRequest): Promise<ApiAnswer> => {
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

  /** A clock that is behind makes the API's certificate one of the future, so nothing that it says could be heard. */
  const requestFrom = async (url: string, asked: ApiRequest): Promise<ApiAnswer> => {
    try {
      return await askFrom(url, asked);
    } catch (error) {
      const problem = dateProblem(error);
      if (problem === 'not yet valid' && options.raiseClock && !known.hasRaised) {
        known.hasRaised = true;
        const time = await askUnverifiedTime(url, options.requestTimeoutMs);
        if (time && time.getTime() > now().getTime()) {
          await options.raiseClock(time);
          return await askFrom(url, asked);
        }
      }
      if (problem === undefined) throw error;
      const clock = now().toISOString().replace(/\.\d+/, '');
      const text = `the certificate of ${url} is ${problem} by this machine's clock, which says ${clock}`;
      throw new AppError('unavailable', text, { cause: error });
    }
  };

  const send = async (apiRequest: ApiRequest): Promise<ApiAnswer> => {
    const failures: unknown[] = [];
    for (const url of urls) {
      try {
        const answer = await requestFrom(url, apiRequest);
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

/** Of a certificate that is right but for its dates, in OpenSSL's words. */
function dateProblem(error: unknown): 'not yet valid' | 'not valid any more' | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as NodeJS.ErrnoException;
    if (code === 'CERT_NOT_YET_VALID') return 'not yet valid';
    if (code === 'CERT_HAS_EXPIRED') return 'not valid any more';
  }
  return undefined;
}

/** `Date` of a server that may be anybody; nothing is told to it, and nothing else of its answer is used. */
async function askUnverifiedTime(url: string, timeoutMs: number): Promise<Date | undefined> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    const { headers } = await askPeer('conductor', `${url}/`, {
      who: 'the conductor',
      method: 'GET',
      dispatcher,
      timeoutMs,
    });
    const time = new Date(String(headers['date']));
    return Number.isNaN(time.getTime()) ? undefined : time;
  } catch {
    return undefined;
  } finally {
    await dispatcher.destroy();
  }
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
