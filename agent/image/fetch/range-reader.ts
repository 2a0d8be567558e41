import { contentEncodingOf } from '#agent/image/fetch/content-encoding.ts';
import type { DownloadOptions } from '#agent/image/fetch/download.ts';
import { type HttpAnswer, httpGet, skip } from '#agent/image/fetch/http-body.ts';
import { refusedStatus, waitMsAfter } from '#agent/image/fetch/refused-status.ts';
import { AppError, isRetryable } from '#shared/errors/app-error.ts';
import { showUrl } from '#shared/peers/show-url.ts';
import { retry } from '#shared/retry.ts';

/** A piece of a file; in bytes. */
export interface Piece {
  readonly offset: number;
  readonly bytes: number;
}

/** Reads pieces of the image out of order; `undefined` when no server gives ranges. */
export type ReadPiece = (piece: Piece) => Promise<Buffer | undefined>;

type Options = Pick<DownloadOptions, 'urls' | 'headers' | 'maxTries' | 'retryDelayMs' | 'idleTimeoutMs'> &
  Pick<DownloadOptions, 'clock' | 'log' | 'signal' | 'rules' | 'onFailedTry'> & {
    /** From servers without ranges the file is read from its start up to here, and what is not wanted dropped. */
    readonly skipTo?: number | undefined;
  };

/**
 * Reads pieces by HTTP ranges (RFC 9110 §14), each on a connection of its own, beside the download.
 * @param head the file's first bytes, which need no request
 * @throws AppError as `openDownload` for servers that fail.
 */
export function createRangeReader(head: Buffer, fileBytes: number, options: Options): ReadPiece {
  return async (piece) => {
    if (piece.offset + piece.bytes <= head.length) {
      return Buffer.from(head.subarray(piece.offset, piece.offset + piece.bytes));
    }
    return readByRange(piece, fileBytes, options);
  };
}

/** Tries the servers in turn, with a pause after each round of them. */
function readByRange(piece: Piece, fileBytes: number, options: Options): Promise<Buffer | undefined> {
  const { urls, clock, log, signal } = options;
  const attempt = async (number: number): Promise<Buffer | undefined> => {
    const url = urls[(number - 1) % urls.length] ?? '';
    try {
      return await request(url, piece, fileBytes, options);
    } catch (cause) {
      signal.throwIfAborted();
      log.warn({ url: showUrl(url), err: cause, ...piece }, 'reading a piece of the image failed');
      const code = isRetryable(cause) ? 'unavailable' : 'image_error';
      throw new AppError(code, `read ${describe(piece)} of ${showUrl(url)}`, { cause });
    }
  };
  return retry(attempt, {
    clock,
    signal,
    passes: (error, number) => number < (isRetryable(error) ? options.maxTries : urls.length),
    delayMs: (number, error) =>
      number % urls.length === 0 ? waitMsAfter(error, clock.now(), options.retryDelayMs) : 0,
    onRetry: (error, number) => options.onFailedTry?.(error, number, urls[(number - 1) % urls.length] ?? ''),
  });
}

async function request(
  url: string,
  piece: Piece,
  fileBytes: number,
  options: Options,
  asked: 'the piece' | 'the file' = 'the piece',
): Promise<Buffer | undefined> {
  const range = `bytes=${piece.offset}-${piece.offset + piece.bytes - 1}`;
  const headers = { ...options.headers, ...(asked === 'the piece' ? { range } : {}) };
  const answer = await httpGet(new URL(url), headers, options);
  try {
    // asked for all of it, it shows what it has
    if (answer.status === 416 && asked === 'the piece')
      return await request(url, piece, fileBytes, options, 'the file');
    if (contentEncodingOf(answer, url) !== undefined) {
      throw new AppError('image_error', `${showUrl(url)} sends ${describe(piece)} packed (Content-Encoding)`);
    }
    if (answer.status === 200 || (piece.offset > 0 && isFromStart(answer))) {
      // the whole file instead: this server knows no ranges (RFC 9110 §14.2 lets it)
      if (piece.offset + piece.bytes > (options.skipTo ?? 0)) return undefined;
      await skip(answer, piece.offset);
    } else {
      checkAnswer(answer, url, piece, fileBytes);
    }
    const into = Buffer.alloc(piece.bytes);
    const { bytes } = await answer.read(into);
    if (bytes === piece.bytes) return into;
    throw new AppError('unavailable', `the connection ended after ${bytes} of ${piece.bytes} bytes`);
  } finally {
    answer.close();
  }
}

/** Some servers call the whole file a range of it. */
function isFromStart({ status, headers }: HttpAnswer): boolean {
  return status === 206 && headers.get('content-range')?.startsWith('bytes 0-') === true;
}

function checkAnswer(answer: HttpAnswer, url: string, piece: Piece, fileBytes: number): void {
  if (answer.status !== 206) {
    throw refusedStatus(url, { status: answer.status, retryAfter: answer.headers.get('retry-after'), gaveBytes: true });
  }
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(answer.headers.get('content-range') ?? '') ?? [];
  if (Number(start) !== piece.offset) {
    throw new AppError('image_error', `${showUrl(url)} answered a request for ${describe(piece)} with another range`);
  }
  if (total !== '*' && Number(total) !== fileBytes) {
    // another server behind the same name may have it: what comes is proven by the checksum at the end
    throw new AppError(
      'unavailable',
      `the image at ${showUrl(url)} has ${total} bytes now, where it had ${fileBytes}`,
      {
        situation: 'image_replaced',
      },
    );
  }
}

function describe({ offset, bytes }: Piece): string {
  return `${bytes} bytes at ${offset}`;
}

/** Pieces that lie nearer to each other than this come by one request. */
const gapBytes = 256 * 1024;
const maxRequestBytes = 8 * 1024 * 1024;

/**
 * Reads pieces, given in the order of the file and without overlap, in as few requests as is sensible.
 * @returns false when no server gives ranges.
 */
export async function readPieces<T extends Piece>(
  read: ReadPiece,
  pieces: readonly T[],
  take: (piece: T, bytes: Buffer) => void,
): Promise<boolean> {
  for (let first = 0; first < pieces.length; ) {
    const offset = pieces[first]?.offset ?? 0;
    let end = offset;
    let next = first;
    for (; next < pieces.length; next += 1) {
      const piece = pieces[next] as T;
      const isNear = piece.offset - end <= gapBytes && piece.offset + piece.bytes - offset <= maxRequestBytes;
      if (next > first && !isNear) break;
      end = Math.max(end, piece.offset + piece.bytes);
    }
    const bytes = await read({ offset, bytes: end - offset });
    if (bytes === undefined) return false;
    for (const piece of pieces.slice(first, next)) {
      take(piece, bytes.subarray(piece.offset - offset, piece.offset - offset + piece.bytes));
    }
    first = next;
  }
  return true;
}
