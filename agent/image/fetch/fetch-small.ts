import type { KeptConnections } from '#agent/image/fetch/connection.ts';
import { contentEncodingOf, undoEncoding } from '#agent/image/fetch/content-encoding.ts';
import { type HttpAnswer, httpGet } from '#agent/image/fetch/http-body.ts';
import { refusedStatus } from '#agent/image/fetch/refused-status.ts';
import { AppError, faultOf } from '#shared/errors/app-error.ts';
import { isSituation } from '#shared/errors/fault-codes.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';
import { showUrl } from '#shared/peers/show-url.ts';

const timeoutMs = 60_000;
const idleTimeoutMs = 30_000;
const firstBytes = 64 * 1024;

export interface FetchOptions {
  readonly signal: AbortSignal;
  /** Headers such as `authorization`; redirects to another origin go without them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Where the file may come from. */
  readonly rules?: OutboundRules | undefined;
  /** Whether the server's certificate is checked; default true. */
  readonly verify?: boolean;
  /** Connections to take and leave; default: one for this file. */
  readonly kept?: KeptConnections;
  /** Memory for the file, of `maxBytes` and one more; default: its own. */
  readonly into?: Buffer;
}

/**
 * Fetches a small document: a checksum file, a config drive.
 * @param what for the message: `the checksum file`
 * @throws AppError `unavailable`, `forbidden` (the rules), `image_error` (4xx), `invalid_argument` when it is larger than `maxBytes`.
 */
export async function fetchSmall(url: string, what: string, maxBytes: number, options: FetchOptions): Promise<Buffer> {
  const { headers = {}, rules, verify = true, kept } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const answer = await httpGet(new URL(url), headers, { idleTimeoutMs, signal, rules, verify, kept });
    try {
      if (answer.status < 200 || answer.status > 299) {
        throw refusedStatus(url, { status: answer.status });
      }
      const encoding = contentEncodingOf(answer, url);
      const bytes = await readAll(answer, maxBytes, options.into);
      return encoding === undefined ? bytes : undoEncoding(bytes, encoding, maxBytes);
    } finally {
      answer.close();
    }
  } catch (cause) {
    const code = cause instanceof AppError ? cause.code : 'unavailable';
    const { code: known } = faultOf(cause);
    const situation = code === 'unavailable' && !isSituation(known) ? 'image_server' : undefined;
    throw new AppError(code, `fetch ${what} from ${showUrl(url)}`, { cause, situation, subject: showUrl(url) });
  }
}

/** @throws AppError `invalid_argument` when it is larger, `unavailable` when it is cut */
export async function readAll(answer: HttpAnswer, maxBytes: number, memory?: Buffer): Promise<Buffer> {
  const tooLarge = (): AppError => new AppError('invalid_argument', `it is larger than ${maxBytes} bytes`);
  if ((answer.bodyBytes ?? 0) > maxBytes) throw tooLarge();
  let into = memory ?? Buffer.allocUnsafe(Math.min(maxBytes + 1, answer.bodyBytes ?? firstBytes));
  let length = 0;
  for (;;) {
    const { bytes, state } = await answer.read(into.subarray(length));
    length += bytes;
    if (length > maxBytes) throw tooLarge();
    if (state === 'complete') return into.subarray(0, length);
    if (state === 'cut') throw new AppError('unavailable', `the connection ended after ${length} bytes`);
    if (length === into.length) into = Buffer.concat([into], Math.min(maxBytes + 1, 2 * length + 1));
  }
}
