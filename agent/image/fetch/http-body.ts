import {
  type Connection,
  type ConnectionOptions,
  type KeptConnections,
  openConnection,
} from '#agent/image/fetch/connection.ts';
import { AppError, isRetryable } from '#shared/errors/app-error.ts';
import { checkOutboundUrl } from '#shared/peers/outbound-url.ts';
import { showUrl } from '#shared/peers/show-url.ts';

/** The answer to one GET; the body is read into the caller's memory. HTTP/1.1 as in RFC 9112. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Bytes of the body; `undefined` when the server does not say. */
  readonly bodyBytes: number | undefined;
  /**
   * Fills `into`, or less at the body's end.
   * @returns the bytes read, and whether the body went on to its proper end or was cut.
   */
  read(into: Uint8Array): Promise<{ readonly bytes: number; readonly state: 'more' | 'complete' | 'cut' }>;
  /** Ends the connection, or keeps it for the next request where all of the body was read and the options say so. */
  close(): void;
}

const maxRedirects = 5;
/** Limit of lines of one answer; real ones have some twenty. */
const maxHeaderLines = 200;
const maxHeaderCharacters = 64 * 1024;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Sends a GET and reads the head of the answer; redirects are followed (without the authorization once the
 * origin changes: another scheme or port is another server). Each hop is held against the rules.
 * @throws AppError `forbidden` where the rules refuse it, `unavailable` when the connection fails or the answer is not HTTP.
 */
export async function httpGet(
  url: URL,
  headers: Readonly<Record<string, string>>,
  options: ConnectionOptions,
): Promise<HttpAnswer> {
  let target = url;
  for (let hop = 0; hop <= maxRedirects; hop += 1) {
    // the name now, its address when it is connected to
    if (options.rules) checkOutboundUrl(describeHop(url, target), target.href, options.rules);
    const sent = target.origin === url.origin ? headers : withoutAuthorization(headers);
    const answer = await getOnce(target, sent, options);
    const location = answer.headers.get('location');
    // who is known by a certificate may not send us to others
    if (!redirects.has(answer.status) || location === undefined || options.pin !== undefined) return answer;
    answer.close();
    const next = URL.parse(location, target.href);
    if (!next) throw new AppError('image_error', `${showUrl(url)} redirects to what is not a URL`);
    target = next;
    if (!['http:', 'https:'].includes(target.protocol)) {
      throw new AppError('image_error', `${showUrl(url)} redirects to ${target.protocol}, not to http or https`);
    }
  }
  throw new AppError('image_error', `${showUrl(url)} redirects more than ${maxRedirects} times`);
}

const skippedAtOnce = 1024 * 1024;

/** Reads so many bytes of a body and drops them. @throws AppError `unavailable` when it ends before. */
export async function skip(answer: HttpAnswer, bytes: number): Promise<void> {
  const scratch = new Uint8Array(Math.min(bytes, skippedAtOnce));
  let left = bytes;
  while (left > 0) {
    const read = await answer.read(scratch.subarray(0, Math.min(left, scratch.length)));
    left -= read.bytes;
    if (left > 0 && read.state !== 'more')
      throw new AppError('unavailable', 'the connection ended before the byte reached');
  }
}

function describeHop(url: URL, target: URL): string {
  return target === url ? showUrl(url) : `the redirect of ${showUrl(url)}`;
}

/** A server may close a kept connection at any time: then the request goes over a new one. */
async function getOnce(
  url: URL,
  headers: Readonly<Record<string, string>>,
  options: ConnectionOptions,
): Promise<HttpAnswer> {
  const connection = takeFree(url, options.kept);
  if (connection !== undefined) {
    connection.watch(options.signal);
    try {
      return await getOver(connection, url, headers, options);
    } catch (error) {
      if (options.signal.aborted || !isRetryable(error)) throw error;
    }
  }
  return getOver(openConnection(url, options), url, headers, options);
}

function takeFree(url: URL, kept: KeptConnections | undefined): Connection | undefined {
  const idle = kept?.get(url.origin) ?? [];
  for (;;) {
    const connection = idle.pop();
    if (connection === undefined || connection.isFree()) return connection;
    connection.close();
  }
}

async function getOver(
  connection: Connection,
  url: URL,
  headers: Readonly<Record<string, string>>,
  { kept }: ConnectionOptions,
): Promise<HttpAnswer> {
  try {
    const lines = Object.entries({
      host: url.host,
      'user-agent': 'baton-agent',
      accept: '*/*',
      'accept-encoding': 'identity', // the checksum is over the bytes of the file
      connection: kept ? 'keep-alive' : 'close',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n`);
    const head = await readFinalHead(connection, url);
    const { status } = head;
    const body = openBody(connection, head.headers, status);
    const mayKeep = head.persists && body.headers.get('connection')?.toLowerCase() !== 'close';
    const close = (): void => {
      if (!kept || !mayKeep || !body.isAtEnd() || !connection.isFree()) return connection.close();
      connection.watch(undefined);
      kept.set(url.origin, [...(kept.get(url.origin) ?? []), connection]);
    };
    return { status, ...body, close };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function withoutAuthorization(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));
}

/** Limit of interim answers to one request: 100, 103. */
const maxInterimAnswers = 20;

/** Passes over what a server says while it is still at work (RFC 9110 §15.2). */
async function readFinalHead(
  connection: Connection,
  url: URL,
): Promise<{ readonly status: number; readonly persists: boolean; readonly headers: ReadonlyMap<string, string> }> {
  for (let answers = 0; answers <= maxInterimAnswers; answers += 1) {
    const line = parseStatusLine(await connection.readLine(), url);
    const headers = await readHeaders(connection);
    // 101 ends HTTP on this connection, and nobody asked for that
    if (line.status >= 200 || line.status === 101) return { ...line, headers };
  }
  throw new AppError('image_error', `the server sent ${maxInterimAnswers} interim answers and no final one`);
}

/** HTTP/1.0 closes behind each answer. */
function parseStatusLine(line: string | undefined, url: URL): { readonly status: number; readonly persists: boolean } {
  if (line === undefined) throw new AppError('unavailable', `${url.host} closed the connection without an answer`);
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1];
  if (status === undefined)
    throw new AppError('unavailable', `${url.host} answered with something that is not HTTP/1.1`);
  return { status: Number(status), persists: line.startsWith('HTTP/1.1') };
}

async function readHeaders(connection: Connection): Promise<Map<string, string>> {
  const headers = new Map<string, string>();
  let characters = 0;
  for (let lines = 0; ; lines += 1) {
    const line = await connection.readLine();
    if (line === undefined) throw new AppError('unavailable', 'the connection ended within the answer’s headers');
    if (line === '') return headers;
    characters += line.length;
    if (lines >= maxHeaderLines || characters > maxHeaderCharacters) {
      throw new AppError('image_error', 'the server sent endless headers');
    }
    const at = line.indexOf(':');
    if (at <= 0) continue;
    const name = line.slice(0, at).trim().toLowerCase();
    const value = line.slice(at + 1).trim();
    // RFC 9112 §6.3: where a body ends must not be a matter of opinion
    if (name === 'content-length' && (headers.get(name) ?? value) !== value) throw badFraming('two Content-Lengths');
    headers.set(name, value);
  }
}

interface OpenBody extends Pick<HttpAnswer, 'headers' | 'bodyBytes' | 'read'> {
  /** Known only of a body that says its length: others have something behind them (trailers), or the connection's end. */
  readonly isAtEnd: () => boolean;
}

function openBody(connection: Connection, headers: ReadonlyMap<string, string>, status: number): OpenBody {
  const isAtEnd = (): boolean => false;
  if (headers.get('transfer-encoding')?.toLowerCase().includes('chunked')) {
    return { headers, bodyBytes: undefined, read: chunkedReader(connection), isAtEnd };
  }
  // RFC 9112 §6.3: it has none, whatever its headers say
  const length = status === 204 ? '0' : headers.get('content-length');
  if (length === undefined) return { headers, bodyBytes: undefined, read: untilCloseReader(connection), isAtEnd };
  const bytes = /^\d{1,15}$/.test(length) ? Number(length) : undefined;
  if (bytes === undefined) throw badFraming('a Content-Length that is not a length');
  return { headers, bodyBytes: bytes, ...countedReader(connection, bytes) };
}

function badFraming(what: string): AppError {
  return new AppError('image_error', `the server sent ${what}`);
}

function countedReader(connection: Connection, length: number): Pick<OpenBody, 'read' | 'isAtEnd'> {
  let left = length;
  const read: HttpAnswer['read'] = async (into) => {
    const wanted = Math.min(into.length, left);
    const bytes = wanted === 0 ? 0 : await connection.fill(into.subarray(0, wanted));
    left -= bytes;
    if (left === 0) return { bytes, state: 'complete' };
    return { bytes, state: bytes < wanted ? 'cut' : 'more' };
  };
  return { read, isAtEnd: () => left === 0 };
}

function untilCloseReader(connection: Connection): HttpAnswer['read'] {
  return async (into) => {
    const bytes = await connection.fill(into);
    // a proper end can't be distinguished from a broken one here: the checksum does
    return { bytes, state: bytes < into.length ? 'complete' : 'more' };
  };
}

function chunkedReader(connection: Connection): HttpAnswer['read'] {
  let left = 0;
  let first = true;
  return async (into) => {
    let bytes = 0;
    while (bytes < into.length) {
      if (left === 0) {
        if (!first && (await connection.readLine())) throw badFraming('a chunk longer than its size');
        first = false;
        const line = await connection.readLine();
        if (line === undefined) return { bytes, state: 'cut' };
        const digits = /^([0-9a-f]{1,12})[ \t]*(;.*)?$/i.exec(line)?.[1];
        if (digits === undefined) throw badFraming('a chunk without a size');
        const size = Number.parseInt(digits, 16);
        if (size === 0) return { bytes, state: 'complete' };
        left = size;
      }
      const wanted = Math.min(left, into.length - bytes);
      const got = await connection.fill(into.subarray(bytes, bytes + wanted));
      bytes += got;
      left -= got;
      if (got < wanted) return { bytes, state: 'cut' };
    }
    return { bytes, state: 'more' };
  };
}
