import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { detectCompression } from '#agent/image/compression.ts';
import type { KeptConnections } from '#agent/image/connection.ts';
import type { DownloadOptions } from '#agent/image/download.ts';
import { fetchSmall } from '#agent/image/fetch-small.ts';
import { type Chunk, type ChunkIndex, chunkId } from '#shared/chunks/chunk-index.ts';
import { AppError, isRetryable } from '#shared/errors/app-error.ts';
import { retry } from '#shared/retry.ts';

export interface FetchedChunk {
  /** As it was sent, compressed. */
  readonly packed: Buffer;
  readonly bytes: Buffer;
}

export type FetchOptions = Pick<
  DownloadOptions,
  'urls' | 'headers' | 'maxTries' | 'retryDelayMs' | 'clock' | 'log' | 'rules'
> & {
  /** Connections over which chunk after chunk is fetched; closed by its maker. */
  readonly kept: KeptConnections;
};

const unpackZstd = promisify(zstdDecompress);

/**
 * Fetches a chunk from the store beside the index, `default.castr` (casync's default), and checks its content. The
 * servers are tried in turn, with a pause after each round of them.
 * @throws AppError `image_error` (no server has it, or what they have is something else), `unavailable`, `aborted`.
 */
export function fetchChunk(
  chunk: Chunk,
  digest: ChunkIndex['digest'],
  { urls, clock, log, headers, rules, kept, maxTries, retryDelayMs }: FetchOptions,
  signal: AbortSignal,
): Promise<FetchedChunk> {
  const attempt = async (number: number): Promise<FetchedChunk> => {
    const url = chunkUrl(chunk, urls[(number - 1) % urls.length] ?? '');
    try {
      const packed = await fetchSmall(url.href, 'a chunk of the image', packedLimit(chunk), {
        signal,
        headers,
        rules,
        kept,
      });
      return { packed, bytes: await unpack(packed, chunk, digest) };
    } catch (error) {
      if (signal.aborted) throw new AppError('aborted', 'the download was stopped', { cause: signal.reason });
      log.warn({ err: error, chunk: chunk.id, offset: chunk.offset }, 'fetching a chunk of the image failed');
      throw error;
    }
  };
  return retry(attempt, {
    clock,
    signal,
    passes: (error, number) => number < (isRetryable(error) ? maxTries : urls.length),
    delayMs: (number) => (number % urls.length === 0 ? retryDelayMs : 0),
  });
}

/** With the index's query: a token for the folder is there. One that holds for the index alone gets the server's 403. */
function chunkUrl({ id }: Chunk, indexUrl: string): URL {
  const url = new URL(`default.castr/${id.slice(0, 4)}/${id}.cacnk`, indexUrl);
  url.search = new URL(indexUrl).search;
  return url;
}

/** What doesn't shrink gets a little longer by its frame (RFC 8878 §3.1.1). */
export function packedLimit(chunk: Chunk): number {
  return chunk.length + 64 * 1024;
}

/** @throws AppError `image_error` when it is not that chunk */
export async function unpack(packed: Buffer, chunk: Chunk, digest: ChunkIndex['digest']): Promise<Buffer> {
  const bytes = await unpackVerified(packed, chunk);
  if (chunkId(bytes, digest) === chunk.id) return bytes;
  throw new AppError('image_error', `chunk ${chunk.id} has another content than the index says`);
}

/** What `unpack` has checked before. @throws AppError `image_error` */
export async function unpackVerified(packed: Buffer, { id, length }: Chunk): Promise<Buffer> {
  const compression = detectCompression(packed);
  if (compression !== 'zstd') {
    const is = compression === 'none' ? 'not compressed' : `compressed with ${compression}`;
    throw new AppError('image_error', `chunk ${id} is ${is}: it must be zstd (casync make --compression=zstd)`);
  }
  const failure = `chunk ${id} can't be unpacked to its ${length} bytes`;
  // in one piece: each further one is a hop to another thread and back
  const bytes = await unpackZstd(packed, { maxOutputLength: length, chunkSize: length + 64 }).catch(
    (cause: unknown) => {
      throw new AppError('image_error', failure, { cause });
    },
  );
  if (bytes.length !== length) throw new AppError('image_error', failure);
  return bytes;
}
