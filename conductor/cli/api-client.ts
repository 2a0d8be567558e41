import type { ClientSettings } from '#conductor/cli/client-settings.ts';
import { explainConnection } from '#conductor/cli/explain-connection.ts';
import { AppError } from '#shared/errors/app-error.ts';

export type Json = Record<string, unknown>;

export interface Download {
  readonly content: Uint8Array;
  /** What the server calls it. */
  readonly fileName: string;
}

export interface CallOptions {
  /** Of a body that is sent as it stands, `application/x-yaml`; absent = it is sent as JSON. */
  readonly type?: string;
  /** For what answers only when all is done, after hours perhaps: it is waited for until this fires. */
  readonly until?: AbortSignal;
  /** A GET's 404 is thrown too, in the server's words: what is read has to be there. */
  readonly isRequired?: boolean;
}

export interface ApiClient {
  /**
   * `undefined` for 404 on GET, unless it is required; `{}` for an empty answer.
   * @throws AppError with the server's own words.
   */
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Json | undefined>;
  /** What is no JSON. @throws AppError with the server's own words. */
  download(path: string): Promise<Download>;
}

/**
 * As `call`; the answer is taken to be what the schema of the operation (`conductor/api`) says. It is not parsed by it: a newer
 * conductor may add fields.
 */
export async function callFor<Expected extends object>(
  client: ApiClient,
  ...request: Parameters<ApiClient['call']>
): Promise<Expected | undefined> {
  return (await client.call(...request)) as Expected | undefined;
}

type Answer = Pick<Response, 'status' | 'ok' | 'text' | 'arrayBuffer'> & { readonly headers: Pick<Headers, 'get'> };
interface RequestParts {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}
type Fetch = (url: string, init: RequestParts) => Promise<Answer>;

const microversion = '1.96';

/** Ironic's API as the settings say, for the command line. */
export function createApiClient(settings: ClientSettings): ApiClient {
  const { url, authorization } = settings;
  let chosen: Promise<Fetch> | undefined;
  let patient: Promise<Fetch> | undefined;
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    { type, until }: CallOptions = {},
  ): Promise<Answer> => {
    const fetch = await (until ? (patient ??= patientFetch(settings)) : (chosen ??= chooseFetch(settings)));
    const headers = {
      'X-OpenStack-Ironic-API-Version': microversion,
      'Content-Type': type ?? 'application/json',
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    };
    const text = type === undefined ? JSON.stringify(body) : String(body);
    const init = {
      method,
      headers,
      ...(body === undefined ? {} : { body: text }),
      ...(until ? { signal: until } : {}),
    };
    return fetch(`${url}${path}`, init).catch((error: unknown) => {
      if (until?.aborted) throw new AppError('aborted', 'stopped waiting for the conductor');
      const cause = explainConnection(url, error);
      throw new AppError('unavailable', `reach the conductor at ${url} (BATON_URL)`, { cause });
    });
  };
  return {
    call: async (method, path, body, options) => {
      const answer = await send(method, path, body, options);
      if (answer.status === 404 && method === 'GET' && options?.isRequired !== true) return undefined;
      const text = await answer.text();
      if (!answer.ok) throw await readRefusal(answer.status, text, settings);
      return text === '' ? {} : parseAnswer(text, url);
    },
    download: async (path) => {
      const answer = await send('GET', path);
      if (!answer.ok) throw await readRefusal(answer.status, await answer.text(), settings);
      const fileName = /filename="([\w.-]+)"/.exec(answer.headers.get('content-disposition') ?? '')?.[1];
      return { content: new Uint8Array(await answer.arrayBuffer()), fileName: fileName ?? 'download' };
    },
  };
}

/** Node's own, whose trust can't be told by call; undici takes a fifth of a second to load, so only where it is needed. */
async function chooseFetch(settings: ClientSettings): Promise<Fetch> {
  if (settings.authorities === undefined && !settings.insecure) return fetch;
  return undiciFetch(settings, {});
}

/** Node's own gives up when no answer has begun after five minutes. */
function patientFetch(settings: ClientSettings): Promise<Fetch> {
  return undiciFetch(settings, { headersTimeout: 0, bodyTimeout: 0 });
}

async function undiciFetch(
  { authorities, insecure }: ClientSettings,
  timeouts: { readonly headersTimeout?: number; readonly bodyTimeout?: number },
): Promise<Fetch> {
  const undici = await import('undici');
  const connect = { rejectUnauthorized: !insecure, ...(authorities === undefined ? {} : { ca: authorities }) };
  const dispatcher = new undici.Agent({ connect, ...timeouts });
  return (url, init) => undici.fetch(url, { ...init, dispatcher });
}

function parseAnswer(text: string, url: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new AppError('unavailable', `read what ${url} (BATON_URL) answers: is it a conductor?`, { cause });
  }
}

/** What checks an answer takes a while to load, and most answers are good. */
async function readRefusal(status: number, text: string, settings: ClientSettings): Promise<AppError> {
  const { refusal } = await import('#conductor/cli/refusal.ts');
  return refusal(status, text, settings);
}
