import type { Slot, SlotPool } from '#agent/image/decode/slot-pool.ts';
import { type ContentEncoding, contentEncodingOf, describedEncodingOf } from '#agent/image/fetch/content-encoding.ts';
import { type HttpAnswer, httpGet, skip } from '#agent/image/fetch/http-body.ts';
import { refusedStatus, waitMsAfter } from '#agent/image/fetch/refused-status.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, faultOf, isRetryable } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';
import { showUrl } from '#shared/peers/show-url.ts';

/** Answers in a row, and no fewer than servers, after which a file of another length is what there is from now on. */
const replacedAnswers = 3;

export interface DownloadOptions {
  readonly urls: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** How often a connection may fail in all; Ironic's rule is 1 + 9. */
  readonly maxTries: number;
  /** Milliseconds between two tries when the last one brought nothing. */
  readonly retryDelayMs: number;
  readonly idleTimeoutMs: number;
  readonly pool: SlotPool;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Where the image may come from, redirects included. */
  readonly rules?: OutboundRules | undefined;
  /** Hears of each try that has failed and is followed by another. */
  readonly onFailedTry?: ((error: unknown, tries: number, url: string) => void) | undefined;
}

export interface Download {
  /** Bytes of the file as served; `undefined` when the server does not say. */
  totalBytes(): number | undefined;
  doneBytes(): number;
  /** How the file is packed on its way: its slots are what comes, not the file. */
  encoding(): ContentEncoding | undefined;
  /** The answer's Content-Encoding in its own words, also where the file itself is so packed; empty without one. */
  describedEncoding(): string;
  /** The file in order, every slot full but the last. Connections that break are resumed at the byte reached. */
  slots(): AsyncGenerator<Slot>;
}

interface State {
  readonly urls: string[];
  index: number;
  tries: number;
  position: number;
  /** Where the current connection began. */
  since: number;
  totalBytes: number | undefined;
  encoding: ContentEncoding | undefined;
  describedEncoding: string;
  /** Validators by which each server knows this version of the file, for If-Range. */
  readonly validators: Map<string, string | undefined>;
  /** Servers that answered a request for a range with another. */
  readonly withoutRanges: Set<string>;
  /** Answers in a row that had a file of another length. */
  replaced: number;
}

/**
 * Connects to the first server that has the image.
 * @throws AppError `image_error` when no server has it (4xx), `unavailable` when the tries are used up, `aborted`.
 */
export async function openDownload(options: DownloadOptions): Promise<Download> {
  const state: State = {
    urls: [...options.urls],
    index: 0,
    tries: 0,
    position: 0,
    since: 0,
    totalBytes: undefined,
    encoding: undefined,
    describedEncoding: '',
    validators: new Map(),
    withoutRanges: new Set(),
    replaced: 0,
  };
  const first = await connect(state, options);
  return {
    totalBytes: () => state.totalBytes,
    doneBytes: () => state.position,
    encoding: () => state.encoding,
    describedEncoding: () => state.describedEncoding,
    slots: () => readSlots(first, state, options),
  };
}

async function* readSlots(first: HttpAnswer, state: State, options: DownloadOptions): AsyncGenerator<Slot> {
  let answer = first;
  let slot = await options.pool.acquire();
  try {
    for (;;) {
      const read = await readOrBreak(answer, slot.bytes.subarray(slot.length));
      slot.length += read.bytes;
      state.position += read.bytes;
      if (read.state === 'complete' && !isShort(state)) break;
      if (slot.length === slot.bytes.length) {
        yield slot;
        slot = await options.pool.acquire();
      } else {
        answer.close();
        await beforeNextTry(read.error ?? cutError(state), state, options);
        answer = await connect(state, options);
      }
    }
    if (slot.length > 0) yield slot;
    else slot.release();
  } finally {
    answer.close();
  }
}

/** A range may end before the file does, and a body without a length wherever its connection broke. */
function isShort({ position, totalBytes }: State): boolean {
  return totalBytes !== undefined && position < totalBytes;
}

interface Read {
  readonly bytes: number;
  readonly state: 'more' | 'complete' | 'cut';
  readonly error?: unknown;
}

async function readOrBreak(answer: HttpAnswer, into: Uint8Array): Promise<Read> {
  try {
    return await answer.read(into);
  } catch (error) {
    return { bytes: 0, state: 'cut', error };
  }
}

function cutError(state: State): AppError {
  const total = state.totalBytes === undefined ? 'an unknown number of' : String(state.totalBytes);
  return new AppError('unavailable', `the connection ended after ${state.position} of ${total} bytes`);
}

/** An open answer that stands at `state.position`, from whichever server gives it. */
async function connect(state: State, options: DownloadOptions): Promise<HttpAnswer> {
  for (;;) {
    try {
      state.since = state.position;
      return await openAt(state, options);
    } catch (error) {
      await beforeNextTry(error, state, options);
    }
  }
}

async function beforeNextTry(error: unknown, state: State, options: DownloadOptions): Promise<void> {
  const url = state.urls[state.index] ?? '';
  if (options.signal.aborted)
    throw new AppError('aborted', 'the download was stopped', { cause: options.signal.reason });
  options.log.warn({ url: showUrl(url), err: error, position: state.position }, 'image download broke');
  if (!isRetryable(error)) {
    state.urls.splice(state.index, 1);
    if (state.urls.length === 0)
      throw new AppError('image_error', `fetch the image from ${showUrl(url)}`, { cause: error });
    state.index %= state.urls.length;
    return;
  }
  state.tries += 1;
  const { code } = faultOf(error);
  state.replaced = code === 'image_replaced' ? state.replaced + 1 : 0;
  if (state.tries >= options.maxTries || state.replaced >= Math.max(replacedAnswers, state.urls.length)) {
    throw new AppError('unavailable', `fetch the image from ${showUrl(url)}: gave up after ${state.tries} tries`, {
      cause: error,
      situation: code === 'image_stalled' || code === 'image_replaced' ? code : 'image_server',
      subject: showUrl(url),
    });
  }
  options.onFailedTry?.(error, state.tries, url);
  state.index = (state.index + 1) % state.urls.length;
  if (state.position === state.since && state.index === 0) {
    await options.clock.sleep(waitMsAfter(error, options.clock.now(), options.retryDelayMs), options.signal);
  }
}

async function openAt(state: State, options: DownloadOptions): Promise<HttpAnswer> {
  const url = state.urls[state.index] ?? '';
  const known = state.validators.get(url);
  const resume: Record<string, string> =
    state.position === 0 || state.withoutRanges.has(url)
      ? {}
      : { range: `bytes=${state.position}-`, ...(known === undefined ? {} : { 'if-range': known }) };
  const answer = await httpGet(new URL(url), { ...options.headers, ...resume }, options);
  try {
    await takeUp(answer, url, state);
    return answer;
  } catch (error) {
    answer.close();
    throw error;
  }
}

/**
 * Makes the answer stand at our position in the file. Servers behind one name have other ETags and times for the same
 * bytes, so those decide nothing but whether a range may be asked for: the checksum at the end proves the whole. Another
 * length is another file, which the next try may not meet.
 */
async function takeUp(answer: HttpAnswer, url: string, state: State): Promise<void> {
  checkStatus(answer, url, state.position);
  const total = totalOf(answer);
  const encoding = answer.status === 416 ? undefined : contentEncodingOf(answer, url);
  if (state.position === 0) {
    Object.assign(state, { totalBytes: total, encoding, describedEncoding: describedEncodingOf(answer) });
    state.validators.set(url, validatorOf(answer));
    return;
  }
  // asked for all of it, it shows what it has
  if (answer.status === 416) state.withoutRanges.add(url);
  if (answer.status === 416 || (total !== undefined && total !== (state.totalBytes ?? total))) {
    const was = state.totalBytes === undefined ? '' : ` where it had ${state.totalBytes}`;
    const now = answer.status === 416 ? `does not reach byte ${state.position} now` : `has ${total} bytes now`;
    const situation = answer.status === 416 ? undefined : 'image_replaced';
    throw new AppError('unavailable', `the image at ${showUrl(url)} ${now}${was}`, { situation });
  }
  state.totalBytes ??= total;
  state.validators.set(url, validatorOf(answer));
  if (encoding !== state.encoding) {
    throw new AppError('unavailable', `${showUrl(url)} sends the image with another Content-Encoding than before`);
  }
  if (answer.status === 206) {
    const start = Number(/^bytes (\d+)-/.exec(answer.headers.get('content-range') ?? '')?.[1]);
    if (start <= state.position) return await skip(answer, state.position - start);
    state.withoutRanges.add(url);
    throw new AppError(
      'unavailable',
      `${showUrl(url)} answered a range request for byte ${state.position} with another range`,
    );
  }
  // no ranges here, or another name for what it has: the part that is already on the disk is read again and dropped
  await skip(answer, state.position);
}

/** Without a range asked for, only 200 brings the file: a 206 brings a part, and a 416 its own page. */
function checkStatus({ status, headers }: HttpAnswer, url: string, position: number): void {
  if (status === 200 || (position > 0 && (status === 206 || status === 416))) return;
  throw refusedStatus(url, { status, retryAfter: headers.get('retry-after'), gaveBytes: position > 0 });
}

function totalOf(answer: HttpAnswer): number | undefined {
  if (answer.status !== 206) return answer.bodyBytes;
  const total = /\/(\d+)$/.exec(answer.headers.get('content-range') ?? '')?.[1];
  return total === undefined ? undefined : Number(total);
}

/** A strong ETag, else the time of change: what If-Range takes (RFC 9110 §13.1.5). */
function validatorOf(answer: HttpAnswer): string | undefined {
  const etag = answer.headers.get('etag');
  return etag !== undefined && !etag.startsWith('W/') ? etag : answer.headers.get('last-modified');
}
