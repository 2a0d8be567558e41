import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { HttpAnswer } from '#agent/image/fetch/http-body.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { showUrl } from '#shared/peers/show-url.ts';

export type ContentEncoding = 'gzip' | 'zstd';

/** Words in the header that stand for no packing; S3's clones keep the first from an upload. */
const plainWords: ReadonlySet<string> = new Set(['aws-chunked', 'identity', 'none', 'binary', 'utf-8', '']);
const encodings: Readonly<Record<string, ContentEncoding>> = { gzip: 'gzip', 'x-gzip': 'gzip', zstd: 'zstd' };
/** Names of files that are packed themselves: Apache describes those by the same header. */
const ownNames: Readonly<Record<ContentEncoding, RegExp>> = { gzip: /\.(gz|tgz)$/i, zstd: /\.zst$/i };

/**
 * How an answer's body is packed on its way, which checksums do not count (Ironic's agent unpacks it too): a server may
 * do it although `identity` was asked for, and stores give back what they were given with.
 * @throws AppError `image_error` for a packing that can't be undone here, naming it.
 */
export function contentEncodingOf(answer: Pick<HttpAnswer, 'headers'>, url: string): ContentEncoding | undefined {
  const [word, ...others] = wordsOf(answer);
  if (word === undefined) return undefined;
  const encoding = encodings[word];
  if (encoding === undefined || others.length > 0) {
    throw new AppError(
      'image_error',
      `${showUrl(url)} is sent with Content-Encoding ${describedEncodingOf(answer)}, though none was asked for: switch that off for this file, or leave it at gzip`,
    );
  }
  return ownNames[encoding].test(new URL(url).pathname) ? undefined : encoding;
}

/** The header's words that stand for a packing, `gzip`; empty where it says of none. */
export function describedEncodingOf(answer: Pick<HttpAnswer, 'headers'>): string {
  return wordsOf(answer).join(', ');
}

function wordsOf(answer: Pick<HttpAnswer, 'headers'>): string[] {
  const words = (answer.headers.get('content-encoding') ?? '').split(',').map((word) => word.trim().toLowerCase());
  return words.filter((each) => !plainWords.has(each));
}

/** Unpacks a small body. @throws AppError `invalid_argument` when it is larger than `maxBytes`, `image_error` when it is damaged. */
export function undoEncoding(bytes: Buffer, encoding: ContentEncoding, maxBytes: number): Buffer {
  const unpack = encoding === 'gzip' ? gunzipSync : zstdDecompressSync;
  try {
    return unpack(bytes, { maxOutputLength: maxBytes });
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    if (isTooLarge) throw new AppError('invalid_argument', `it is larger than ${maxBytes} bytes`);
    throw new AppError('image_error', `unpack its Content-Encoding ${encoding}`, { cause });
  }
}
