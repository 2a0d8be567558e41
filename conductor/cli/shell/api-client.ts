import type { NodeAnswer } from '#conductor/api/resources.ts';
import type { ClientSettings } from '#conductor/cli/shell/client-settings.ts';
import type { NodeField } from '#conductor/model/node-words.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorChain, isRetryable } from '#shared/errors/app-error.ts';
import { retry } from '#shared/retry.ts';

const untrusted: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Why no connection came to be, in words, where OpenSSL has only numbers and a server that is asked without TLS only hangs
 * up; any other error as it is. Pure.
 * @param url of the conductor
 */
function explainConnection(url: string, error: unknown): unknown {
  const code = codeOf(error);
  const other = url.startsWith('https:') ? url.replace('https:', 'http:') : url.replace('http:', 'https:');
  // it has answered, in clear, to what was to begin TLS
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return new AppError('unavailable', `it speaks no TLS there: if it is a conductor, BATON_URL must be ${other}`);
  }
  // also one that ends just now does this
  if (url.startsWith('http:') && (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET')) {
    return new AppError(
      'unavailable',
      `it has hung up without an answer: if it speaks TLS there, BATON_URL must be ${other}`,
    );
  }
  if (code !== undefined && untrusted.has(code)) {
    return new AppError(
      'unavailable',
      `nobody who is trusted has signed its certificate (${code}): BATON_CACERT names the file of who has, --insecure takes any`,
    );
  }
  return error;
}

/** The innermost has it. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = Reflect.get(error, 'code');
  return codeOf(error.cause) ?? (typeof code === 'string' ? code : undefined);
}

export type Json = Record<string, unknown>;

export interface Download {
  readonly content: Uint8Array;
  /** Name of the file as the server gives it. */
  readonly fileName: string;
}

export interface CallOptions {
  /** Media type of a body that is sent as it stands, `application/x-yaml`; absent = it is sent as JSON. */
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
  /** Downloads a body that is not JSON. @throws AppError with the server's own words. */
  download(path: string): Promise<Download>;
}

/**
 * Calls as `call` does; the answer is taken to be what the schema of the operation (`conductor/api`) says. It is not
 * parsed by it: a newer conductor may add fields.
 */
export async function callFor<Expected extends object>(
  client: ApiClient,
  ...request: Parameters<ApiClient['call']>
): Promise<Expected | undefined> {
  return (await client.call(...request)) as Expected | undefined;
}

/**
 * Calls as `callFor` does, for what always has an answer. @param what is asked for: `prune images` @throws AppError
 * `internal`
 */
export async function answerFor<Expected extends object>(
  client: ApiClient,
  what: string,
  ...request: Parameters<ApiClient['call']>
): Promise<Expected> {
  const answer = await callFor<Expected>(client, ...request);
  if (!answer) throw new AppError('internal', `${what}: the conductor answered nothing`);
  return answer;
}

type Answer = Pick<Response, 'status' | 'ok' | 'text' | 'arrayBuffer'> & { readonly headers: Pick<Headers, 'get'> };
interface RequestParts {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
}
type Fetch = (url: string, init: RequestParts) => Promise<Answer>;

const microversion = '1.115';

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

/** Node's own, whose trust can't be set per call; undici takes a fifth of a second to load, so only where it is needed. */
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

/** Reads a refusal; the code that checks it takes a while to load, and most answers are good. */
async function readRefusal(status: number, text: string, settings: ClientSettings): Promise<AppError> {
  const { refusalError } = await import('#conductor/cli/shell/render-status.ts');
  return refusalError(status, text, settings);
}

const everyMs = 2_000;
/** A try at a BMC that does not answer has the node for 23 s, and then leaves it alone for 5. */
const lockPatienceMs = 45_000;

/** Requests that are refused because a conductor is at the node are made again, as by Ironic's own client. */
export function waitForLock(
  client: ApiClient,
  { clock, notify }: { readonly clock: Clock; readonly notify: (line: string) => void },
): ApiClient {
  return {
    ...client,
    call: (...request) => {
      const onRetry = (error: unknown, attempt: number): void => {
        if (attempt === 1) notify(`${errorChain(error)} Trying again for ${lockPatienceMs / 1000} s`);
      };
      const options = { clock, passes: isLocked, withinMs: lockPatienceMs + everyMs, delayMs: () => everyMs, onRetry };
      return retry(() => client.call(...request), options);
    },
  };
}

/** Other conflicts do not pass by themselves. */
function isLocked(error: unknown): boolean {
  return error instanceof AppError && error.code === 'node_locked';
}

/** Between two looks at what is under way. */
export const pollMs = 500;
/** A conductor that is restarted is back by then, and what it did goes on. */
const patienceMs = 60_000;

/** Looks again and again while the conductor is away. @throws what the last look threw, after a minute */
export function lookPatiently<Seen>(look: () => Promise<Seen>, clock: Clock): Promise<Seen> {
  return retry(look, { clock, passes: isRetryable, withinMs: patienceMs + pollMs, delayMs: () => pollMs });
}

/** @param ident as it stands in a path. @param fields default: all. @throws AppError `not_found` in the conductor's words */
export function getNode(client: ApiClient, ident: string, fields?: readonly NodeField[]): Promise<NodeAnswer> {
  return readOfNode<NodeAnswer>(client, ident, fields ? `?fields=${fields.join(',')}` : '');
}

/** @param path behind the node's: `/history?detail=true` @throws AppError `not_found` without the node */
export async function readOfNode<Expected extends object = Json>(
  client: ApiClient,
  ident: string,
  path: string,
): Promise<Expected> {
  const answer = await callFor<Expected>(client, 'GET', `/v1/nodes/${ident}${path}`);
  if (!answer) throw noNode(ident);
  return answer;
}

/** The rows of a list without pages; none where there is no such list. Their type is the schema's, as with `callFor`. */
export async function readList<Row extends object = Json>(
  client: ApiClient,
  path: string,
  key: string,
): Promise<readonly Row[]> {
  return (await callFor<Readonly<Record<string, readonly Row[]>>>(client, 'GET', path))?.[key] ?? [];
}

/** A path with what is given of a query. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&');
  return text === '' ? path : `${path}?${text}`;
}

/** @param ident as it stands in a path */
export function noNode(ident: string): AppError {
  return new AppError('not_found', `Node ${decodeURIComponent(ident)} could not be found.`);
}

const pageSize = 1000;

/**
 * Everything of a collection, page after page.
 * @param query without limit and marker; `undefined` values are left away
 */
export async function listAll<Item extends object = Json>(
  client: ApiClient,
  collection: { readonly path: string; readonly key: string },
  query: Readonly<Record<string, string | undefined>> = {},
  most = Number.POSITIVE_INFINITY,
): Promise<Item[]> {
  const all: Item[] = [];
  while (all.length < most) {
    const last = all.at(-1);
    const marker = last && 'uuid' in last && typeof last.uuid === 'string' ? last.uuid : undefined;
    const limit = Math.min(pageSize, most - all.length);
    const path = withQuery(collection.path, { ...query, limit, marker }).replaceAll('%2C', ',');
    const answer = await client.call('GET', path);
    const page = (answer?.[collection.key] ?? []) as Item[];
    all.push(...page);
    // `next` is the server's word; a page shorter than asked for may be its own limit
    if (page.length === 0 || answer?.['next'] === undefined) break;
  }
  return all;
}
