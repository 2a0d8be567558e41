import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Context, Next } from 'hono';
import { matchedRoutes } from 'hono/route';
import { sourceOf } from '#conductor/http/doors/admit-strangers.ts';
import { type BodyParts, partsOf } from '#conductor/http/doors/body-parts.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import { type BodyRow, bodyRows } from '#conductor/http/routing/body-rows.ts';
import { type ApiApp, bodyLimitsKey } from '#conductor/http/routing/define-routes.ts';
import { applicationFault } from '#conductor/http/routing/error-answers.ts';
import { createJsonMeter, parseJson } from '#shared/peers/json-answers.ts';

const mebibyte = 1024 ** 2;
/** Heartbeats and most requests are smaller, and are not held up by others. */
const smallBytes = 64 * 1024;

export interface BodyShares {
  /** Room for larger bodies at once, of all senders together. */
  readonly bytes: number;
  /** Room for those of one sender. */
  readonly sourceBytes: number;
}

/** An address may be a relay with many machines behind it. */
const strangersShares: BodyShares = { bytes: 64 * mebibyte, sourceBytes: bodyRows.report.bytes };
const callersShares: BodyShares = { bytes: 96 * mebibyte, sourceBytes: bodyRows.provision.bytes };
const retryAfterSeconds = 5;

/** Goes on with the body that it has read, or answers why it has not. */
export type BodyReader = (c: Context<ApiEnv>, row: BodyRow, next: Next) => Promise<Response | void>;

/** Returns the row of limits that the definition of a request's route names. */
export function rowsOf(app: ApiApp): (c: Context<ApiEnv>) => BodyRow {
  let rows: ReadonlyMap<string, BodyRow> | undefined;
  return (c) => {
    rows ??= readRows(app);
    for (const { method, path } of matchedRoutes(c)) {
      const row = rows.get(`${method} ${path}`);
      if (row) return row;
    }
    return bodyRows.none;
  };
}

function readRows(app: ApiApp): ReadonlyMap<string, BodyRow> {
  return new Map(
    app.openAPIRegistry.definitions.flatMap((definition) => {
      if (definition.type !== 'route') return [];
      const { method, path } = definition.route;
      const row = (definition.route as { readonly [bodyLimitsKey]?: BodyRow })[bodyLimitsKey];
      return row ? [[`${method.toUpperCase()} ${path.replaceAll(/\{([^}]+)\}/g, ':$1')}`, row] as const] : [];
    }),
  );
}

/**
 * Makes the only way to get at a body: reads it within its row of limits, and parses it where it is JSON; routes get it as
 * `c.req.json()`, or as text (`readText`). What is too long is refused before it is read where its length is announced.
 * There is an end to what all callers, and each, may have in memory at once. What counts is what has come: an announced
 * length costs nobody anything.
 * @throws AppError `invalid_argument` naming the limit of depth or values.
 */
export function readCallersBodies(given: Partial<BodyShares> = {}): BodyReader {
  return readShared({ ...callersShares, ...given }, (c) => {
    const { user, project } = c.get('caller');
    return JSON.stringify([user, project]);
  });
}

/** Does the same for senders who have not logged in, by their addresses. */
export function readStrangersBodies(given: Partial<BodyShares> = {}): BodyReader {
  return readShared({ ...strangersShares, ...given }, sourceOf);
}

function readShared(shares: BodyShares, senderOf: (c: Context<ApiEnv>) => string): BodyReader {
  const held = new Map<string, number>();
  let all = 0;
  return async (c, row, next) => {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const sender = senderOf(c);
    let mine = 0;
    const hold = (bytes: number): void => {
      mine += bytes;
      all += bytes;
      const ofSender = (held.get(sender) ?? 0) + bytes;
      if (ofSender > 0) held.set(sender, ofSender);
      else held.delete(sender);
    };
    const take = (bytes: number): Refusal | undefined => {
      hold(bytes);
      const isFull = all > shares.bytes || (held.get(sender) ?? 0) > shares.sourceBytes;
      return isFull ? [503, 'Too many large bodies are being read; try again later.'] : undefined;
    };
    try {
      const refusal = await readAndParse(c, row, take);
      if (!refusal) return await next();
      if (refusal[0] === 503) c.header('Retry-After', String(retryAfterSeconds));
      return applicationFault(c, ...refusal);
    } finally {
      hold(-mine);
    }
  };
}

/**
 * Reads the body of a GET, which no `Request` has, and in which gophercloud sends what it asks for.
 * @returns `undefined` for none, and for what is not JSON
 * @throws AppError `invalid_argument` naming the limit.
 */
export async function readBodyOfGet(c: Context<ApiEnv>): Promise<unknown> {
  const { incoming } = (c.env ?? {}) as { readonly incoming?: IncomingMessage };
  if (incoming?.readable !== true) return undefined;
  const meter = createJsonMeter('the body has', { ...bodyRows.none, code: 'invalid_argument' });
  const parts: Buffer[] = [];
  for await (const part of incoming as AsyncIterable<Buffer>) {
    meter.push(part);
    parts.push(part);
  }
  return parseJson(Buffer.concat(parts));
}

type Refusal = readonly [status: 408 | 413 | 503, message: string];

/** @param take is told how much more of a body has come, unless it is small */
async function readAndParse(
  c: Context<ApiEnv>,
  row: BodyRow,
  take: (bytes: number) => Refusal | undefined,
): Promise<Refusal | undefined> {
  const bytes = await readInTime(c, row, take);
  if (!Buffer.isBuffer(bytes)) return bytes;
  // hono asks whether there is one; of what has been parsed nobody needs the bytes
  const isEmpty = bytes.length === 0;
  Object.assign(c.req.bodyCache, { arrayBuffer: Promise.resolve(new ArrayBuffer(isEmpty ? 0 : 1)) });
  c.set('isEmpty', isEmpty);
  if (row.isText === true) {
    c.set('body', bytes);
    return undefined;
  }
  c.set('hasEscapes', await requireFewValues(bytes, row));
  const value = await parseJson(bytes, true);
  c.req.json = async () => {
    if (value === undefined) throw new SyntaxError('the body is not JSON');
    return value as never;
  };
  return undefined;
}

/** Reads the body, or why it is not read to its end. */
async function readInTime(
  c: Context<ApiEnv>,
  { bytes: most, seconds }: BodyRow,
  take: (bytes: number) => Refusal | undefined,
): Promise<Buffer | Refusal> {
  const tooLong: Refusal = [413, `The body is larger than ${most} bytes.`];
  const announced = lengthOf(c) ?? Infinity;
  if (announced > most && announced !== Infinity) return tooLong;
  const late = Promise.withResolvers<Refusal>();
  const timer = setTimeout(() => late.resolve([408, `The body has not come within ${seconds} s.`]), seconds * 1000);
  try {
    // to look at the stream of a request costs more than all else on the way in
    if (announced <= smallBytes)
      return await Promise.race([c.req.arrayBuffer().then((bytes) => Buffer.from(bytes)), late.promise]);
    const read = partsOf(c);
    try {
      const parts: Uint8Array[] = [];
      for (let length = 0; ; ) {
        const part = await Promise.race([read.next(), late.promise]);
        if (part === undefined) return join(parts, length, read.move);
        if (!(part instanceof Uint8Array)) return part;
        length += part.length;
        const refusal = length > most ? tooLong : take(part.length);
        if (refusal) return refusal;
        parts.push(part);
      }
    } finally {
      read.end();
    }
  } finally {
    clearTimeout(timer);
  }
}

function join(parts: readonly Uint8Array[], length: number, move: BodyParts['move']): Buffer {
  const whole = Buffer.from(new ArrayBuffer(length));
  let at = 0;
  for (const part of parts) {
    const { length: ofPart } = part;
    move(part, whole, at);
    at += ofPart;
  }
  return whole;
}

/** Returns the length as announced in advance; `undefined` = it comes in chunks. */
function lengthOf({ req }: Context): number | undefined {
  const contentLength = req.header('content-length');
  return contentLength === undefined || req.header('transfer-encoding') !== undefined
    ? undefined
    : Number(contentLength);
}

/**
 * Refuses a body with too many values; other requests are served between the parts of a large one.
 * @returns whether there are characters by their numbers in it
 */
async function requireFewValues(body: Buffer, row: BodyRow): Promise<boolean> {
  const meter = createJsonMeter('the body has', { ...row, code: 'invalid_argument' });
  let hasEscapes = false;
  for (let at = 0; at < body.length; at += mebibyte) {
    if (at > 0) await setImmediate();
    meter.push(body.subarray(at, at + mebibyte));
    hasEscapes ||= body.subarray(at, at + mebibyte + 1).includes(String.raw`\u`);
  }
  return hasEscapes;
}
