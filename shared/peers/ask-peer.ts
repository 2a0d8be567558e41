import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, request } from 'undici';
import { AppError } from '#shared/errors/app-error.ts';
import { createJsonMeter, type JsonMeter, parseJson } from '#shared/peers/json-answers.ts';
import { createLargeAnswers, type LargeAnswer, largeBytes } from '#shared/peers/large-answers.ts';
import { notePeerKind } from '#shared/peers/peer-certificates.ts';
import { type PeerKind, type PeerLimits, peerLimits } from '#shared/peers/peer-limits.ts';
import { showUrl } from '#shared/peers/show-url.ts';
import { openTimeLimit, type TimeLimit } from '#shared/peers/time-limit.ts';
import { unpacked } from '#shared/peers/unpacked.ts';

export interface PeerRequest {
  /** The peer as errors name it: `the agent`. */
  readonly who: string;
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  /** The body; for one that comes in parts the headers say type and length. */
  readonly body?: string | AsyncIterable<Uint8Array> | undefined;
  /** Milliseconds until the answer begins; else that of the dispatcher. */
  readonly headersTimeoutMs?: number | undefined;
  readonly dispatcher?: Dispatcher | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the whole answer is there; else that of the peer's limits. */
  readonly timeoutMs?: number | undefined;
}

export interface PeerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed, whatever the content type says; `undefined` for what is not JSON document. */
  readonly body: unknown;
  /** The body as it came, for what is not JSON; made at each call. */
  readonly text: () => string;
}

/**
 * One HTTP exchange with somebody who may be hostile, without redirects: the only way of the conductor to read what others
 * answer (the table of limits is `peer-limits.ts`).
 * @throws AppError with the kind's code for an answer above its limits; undici's own errors, and the signal's reason
 */
export async function askPeer(kind: PeerKind, url: URL | string, options: PeerRequest): Promise<PeerAnswer> {
  const limit = limitOf(peerLimits[kind], options);
  try {
    return await readAnswer(kind, url, options, limit.signal);
  } finally {
    limit.end();
  }
}

async function readAnswer(
  kind: PeerKind,
  url: URL | string,
  options: PeerRequest,
  signal: AbortSignal,
): Promise<PeerAnswer> {
  const limits = peerLimits[kind];
  const answer = await requestOf(kind, url, options, signal);
  const meter = createJsonMeter(`${options.who} answers with`, limits);
  const parts: Uint8Array[] = [];
  let length = 0;
  let large: LargeAnswer | undefined;
  try {
    // leaving the loop by an error destroys the stream, and with it the connection
    for await (const part of await unpacked(answer.body, answer.headers['content-encoding'])) {
      meter.push(part);
      parts.push(part);
      length += part.length;
      if (length <= largeBytes) continue;
      large ??= await largeAnswers.begin({
        peer: new URL(url).host,
        signal,
        cut: (error) => answer.body.destroy(error),
      });
      await large.take(part.length);
    }
    const bytes = Buffer.concat(parts);
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: await parseJson(bytes),
      text: () => bytes.toString('utf8'),
    };
  } catch (error) {
    // that the session is gone the status says: iDRAC 8 breaks off the body (check_redfish issue 90)
    const isCut = !(error instanceof AppError) && !signal.aborted;
    if (answer.statusCode !== 401 || !isCut) throw error;
    return { status: 401, headers: answer.headers, body: undefined, text: () => '' };
  } finally {
    large?.end();
  }
}

/** The status alone; what comes with it is read up to the limit, so that the connection can be used again. */
export async function askPeerForStatus(kind: PeerKind, url: URL | string, options: PeerRequest): Promise<number> {
  const limits = peerLimits[kind];
  const limit = limitOf(limits, options);
  try {
    const answer = await requestOf(kind, url, options, limit.signal);
    await answer.body.dump({ limit: limits.bytes, signal: limit.signal });
    return answer.statusCode;
  } finally {
    limit.end();
  }
}

/** Gives the status and headers alone; the body is not read, and the connection is closed. */
export async function askPeerForHeaders(
  kind: PeerKind,
  url: URL | string,
  options: PeerRequest,
): Promise<Pick<PeerAnswer, 'status' | 'headers'>> {
  const limit = limitOf(peerLimits[kind], options);
  try {
    const answer = await requestOf(kind, url, options, limit.signal);
    answer.body.on('error', () => undefined); // it is cut off here
    answer.body.destroy();
    return { status: answer.statusCode, headers: answer.headers };
  } finally {
    limit.end();
  }
}

/**
 * Asks for an answer that goes on, one JSON document on each line (none unless it is 200), without a time limit but the
 * signal's.
 * @throws as `askPeer`, of each line
 */
export async function openPeerLines(
  kind: PeerKind,
  url: URL | string,
  options: PeerRequest & { readonly signal: AbortSignal },
): Promise<{ readonly status: number; readonly lines: AsyncGenerator }> {
  const { statusCode: status, body } = await requestOf(kind, url, options, options.signal);
  if (status !== 200)
    await body.dump({ limit: peerLimits[kind].bytes, signal: AbortSignal.timeout(peerLimits[kind].timeoutMs) });
  const newMeter = (): JsonMeter => createJsonMeter(`${options.who} answers with`, peerLimits[kind]);
  return { status, lines: readLines(status === 200 ? body : [], newMeter) };
}

async function* readLines(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  newMeter: () => JsonMeter,
): AsyncGenerator {
  let meter = newMeter();
  let parts: Uint8Array[] = [];
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      const last = chunk.subarray(from, end);
      meter.push(last);
      const line = Buffer.concat([...parts, last]);
      from = end + 1;
      if (line.toString('latin1').trim() !== '') yield await parseJson(line);
      meter = newMeter();
      parts = [];
    }
    const rest = chunk.subarray(from);
    meter.push(rest);
    parts.push(rest);
  }
}

const largeAnswers = createLargeAnswers();

function limitOf(limits: PeerLimits, { signal, timeoutMs }: PeerRequest): TimeLimit {
  return openTimeLimit(timeoutMs ?? limits.timeoutMs, signal);
}

function requestOf(
  kind: PeerKind,
  url: URL | string,
  { method, headers = {}, body, dispatcher, headersTimeoutMs }: PeerRequest,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  notePeerKind(kind, url);
  return request(url, {
    method,
    headers,
    body: body === undefined || typeof body === 'string' ? (body ?? null) : Readable.from(body, { objectMode: false }),
    signal,
    ...(dispatcher ? { dispatcher } : {}),
    ...(headersTimeoutMs === undefined ? {} : { headersTimeout: headersTimeoutMs }),
  });
}

export interface Download {
  readonly url: string;
  readonly to: string;
  readonly algorithm: 'sha1' | 'sha256' | 'sha512';
  readonly maxBytes: number;
  readonly dispatcher?: Dispatcher;
  readonly signal: AbortSignal;
}

/**
 * Writes what a server answers into a file, without redirects.
 * @returns its digest, in hexadecimal
 * @throws AppError `unavailable` for a server that is away, `invalid_argument` for one that answers no file, or too large a one
 */
export async function downloadFile({ url, to, algorithm, maxBytes, dispatcher, signal }: Download): Promise<string> {
  const what = `fetch ${showUrl(url)}`;
  const hash = createHash(algorithm);
  let bytes = 0;
  try {
    const answer = await request(url, { method: 'GET', signal, ...(dispatcher ? { dispatcher } : {}) });
    if (answer.statusCode !== 200) {
      await answer.body.dump({ limit: 64 * 1024, signal: AbortSignal.timeout(5000) });
      throw new AppError('invalid_argument', `${what}: it was answered with ${answer.statusCode}`);
    }
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        bytes += chunk.length;
        hash.update(chunk);
        if (bytes > maxBytes) done(new AppError('invalid_argument', `${what}: it has more than ${maxBytes} bytes`));
        else done(null, chunk);
      },
    });
    await pipeline(answer.body, counted, createWriteStream(to), { signal });
    return hash.digest('hex');
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('unavailable', what, { cause });
  }
}
