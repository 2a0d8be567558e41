import { setImmediate } from 'node:timers/promises';
import type { Context, Next } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { AccessRule } from '#conductor/auth/access.ts';
import { sourceOf } from '#conductor/http/admit-strangers.ts';
import type { ApiEnv } from '#conductor/http/define-routes.ts';
import { applicationFault } from '#conductor/http/error-answers.ts';
import { createJsonMeter } from '#shared/peers/json-answers.ts';
import { type PeerLimits, peerLimits } from '#shared/peers/peer-limits.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
/**
 * Cost that one body may have for its reader; depth and values as of a peer's answers (`peer-limits.ts`), where it is
 * JSON.
 */
type BodyRow = Pick<PeerLimits, 'bytes' | 'depth' | 'values'> & {
  /** YAML, which its route parses apart, with limits of its own, whatever the caller says that it is. */
  readonly isYaml?: true;
};

/** ironic-api.md §1.2. An allocation names 10,000 candidates in so many values, twice over. */
const usual: BodyRow = { bytes: mebibyte, depth: 64, values: 20_000 };
/** By path of the rule. A config drive comes in a provision request's body, a site's documents in one. */
export const bodyRows: ReadonlyMap<string, BodyRow> = new Map<string, BodyRow>([
  ['/v1/nodes/{node}/states/provision', { ...usual, bytes: 64 * mebibyte }],
  ['/v1/continue_inspection', peerLimits.inventory],
  ['/api/v1.0/configdocs/{collection}', { ...usual, bytes: 64 * mebibyte, isYaml: true }],
  ['/api/v1.0/plugins', { ...usual, bytes: 4 * mebibyte }],
  ['/api/v1.0/revisions/{revision}/tags/{tag}', { bytes: 16 * kibibyte, depth: 8, values: 1_000 }],
]);
/** Heartbeats and reports are smaller, and are not held up by others. */
const smallBytes = 64 * kibibyte;

export interface StrangersLimits {
  /** Bytes that strangers' larger bodies may take at once, all together. */
  readonly bytes: number;
  /** And those of one address: behind a relay there may be many machines. */
  readonly sourceBytes: number;
  /** Milliseconds in which a body must be there. */
  readonly timeoutMs: number;
}

const strangersLimits: StrangersLimits = { bytes: 128 * mebibyte, sourceBytes: 32 * mebibyte, timeoutMs: 30_000 };
const retryAfterSeconds = 5;

export type BodyLimit = (c: Context<ApiEnv>, rule: AccessRule | undefined, next: Next) => Promise<Response | void>;

/**
 * Answers 413 for a body that is too large, before it is read where its length is announced. hono's own middleware reads only
 * what comes without a length: it looks at the body of every request, which costs more than all else on the way in.
 * It stands behind the login: what it reads is kept in memory.
 */
export const limitBody: BodyLimit = async (c, rule, next) => {
  if (!hasBody(c)) return next();
  const row = rowOf(rule);
  const maxSize = row.bytes;
  const go = (): Promise<void> => afterMetering(c, row, next);
  const refuse = (): Response => applicationFault(c, 413, `The body is larger than ${maxSize} bytes.`);
  const contentLength = lengthOf(c);
  if (contentLength === undefined) return bodyLimit({ maxSize, onError: refuse })(c, go);
  return contentLength > maxSize ? refuse() : go();
};

/**
 * The same for who has not logged in, with an end to what all of them, and one address, may have in memory at once, and for
 * how long. What counts is what has come: an announced length costs nobody anything.
 */
export function limitStrangersBodies(given: Partial<StrangersLimits> = {}): BodyLimit {
  const limits = { ...strangersLimits, ...given };
  const held = new Map<string, number>();
  let all = 0;
  return async (c, rule, next) => {
    if (!hasBody(c)) return next();
    const row = rowOf(rule);
    const maxSize = row.bytes;
    const contentLength = lengthOf(c) ?? Infinity;
    if (contentLength <= smallBytes || (contentLength !== Infinity && contentLength > maxSize))
      return limitBody(c, rule, next);
    const source = sourceOf(c);
    let mine = 0;
    const hold = (bytes: number): void => {
      mine += bytes;
      all += bytes;
      const ofSource = (held.get(source) ?? 0) + bytes;
      if (ofSource > 0) held.set(source, ofSource);
      else held.delete(source);
    };
    const take = (bytes: number): Refusal | undefined => {
      hold(bytes);
      if (mine > maxSize) return [413, `The body is larger than ${maxSize} bytes.`];
      const isFull = all > limits.bytes || (held.get(source) ?? 0) > limits.sourceBytes;
      return isFull ? [503, 'Too many large bodies are being read; try again later.'] : undefined;
    };
    try {
      const body = await readInTime(c.req.raw.body, take, limits.timeoutMs);
      if (Array.isArray(body)) {
        if (body[0] === 503) c.header('Retry-After', String(retryAfterSeconds));
        return applicationFault(c, ...body);
      }
      c.req.raw = new Request(c.req.raw, { method: c.req.method, body });
      return await afterMetering(c, row, next);
    } finally {
      hold(-mine);
    }
  };
}

type Refusal = [status: 408 | 413 | 503, message: string];

/** The body, or why it is not read to its end. */
async function readInTime(
  stream: ReadableStream<Uint8Array> | null,
  take: (bytes: number) => Refusal | undefined,
  timeoutMs: number,
): Promise<Buffer<ArrayBuffer> | Refusal> {
  if (!stream) return Buffer.alloc(0);
  const reader = stream.getReader();
  const late = Promise.withResolvers<Refusal>();
  const timer = setTimeout(() => late.resolve([408, `The body has not come within ${timeoutMs / 1000} s.`]), timeoutMs);
  const parts: Uint8Array[] = [];
  try {
    for (;;) {
      const read = await Promise.race([reader.read(), late.promise]);
      if (Array.isArray(read)) return read;
      if (read.done) return Buffer.concat(parts);
      const refusal = take(read.value.length);
      if (refusal) return refusal;
      parts.push(read.value);
    }
  } finally {
    clearTimeout(timer);
    // nothing of what still comes is kept
    void reader.cancel().catch(() => undefined);
  }
}

function hasBody({ req }: Context): boolean {
  return req.method !== 'GET' && req.method !== 'HEAD';
}

/** @param path of a rule, `/v1/nodes/{node}` */
export function rowOfPath(path: string): BodyRow {
  return bodyRows.get(path) ?? usual;
}

function rowOf(rule: AccessRule | undefined): BodyRow {
  return rowOfPath(rule?.path ?? '');
}

/** Others go on between the parts of a large body. */
const meteredAtOnce = mebibyte;

/**
 * Goes on with a body whose depth and number of values are within its row.
 * @throws AppError `invalid_argument` naming the limit.
 */
async function afterMetering(c: Context<ApiEnv>, row: BodyRow, next: Next): Promise<void> {
  if (row.isYaml !== true) {
    const meter = createJsonMeter('the body has', { ...row, code: 'invalid_argument' });
    const body = Buffer.from(await c.req.arrayBuffer());
    for (let at = 0; at < body.length; at += meteredAtOnce) {
      if (at > 0) await setImmediate();
      meter.push(body.subarray(at, at + meteredAtOnce));
    }
  }
  await next();
}

/** Reads the length as announced in advance; `undefined` = it comes in chunks. */
function lengthOf({ req }: Context): number | undefined {
  const contentLength = req.header('content-length');
  return contentLength === undefined || req.header('transfer-encoding') !== undefined
    ? undefined
    : Number(contentLength);
}
