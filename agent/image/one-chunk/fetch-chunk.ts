import type { KeptConnections } from '#agent/image/fetch/connection.ts';
import type { DownloadOptions } from '#agent/image/fetch/download.ts';
import { fetchSmall } from '#agent/image/fetch/fetch-small.ts';
import type { ChunkMemory, UnpackedChunk } from '#agent/image/one-chunk/chunk-memory.ts';
import { type Chunk, packedLimit } from '#shared/chunks/chunk-index.ts';
import { AppError, isRetryable } from '#shared/errors/app-error.ts';
import { retry } from '#shared/retry.ts';

export type FetchOptions = Pick<
  DownloadOptions,
  'urls' | 'headers' | 'maxTries' | 'retryDelayMs' | 'clock' | 'log' | 'rules' | 'onFailedTry'
> & {
  /** Connections over which chunk after chunk is fetched; closed by its maker. */
  readonly kept: KeptConnections;
};

/**
 * Fetches a chunk from the store beside the index, `default.castr` (casync's default), and checks its content. The
 * servers are tried in turn, with a pause after each round of them.
 * @throws AppError `image_error` (no server has it, or what they have is something else), `unavailable`, `aborted`.
 */
export function fetchChunk(
  chunk: Chunk,
  memory: ChunkMemory,
  { urls, clock, log, headers, rules, kept, maxTries, retryDelayMs, onFailedTry }: FetchOptions,
  signal: AbortSignal,
): Promise<UnpackedChunk> {
  const attempt = async (number: number): Promise<UnpackedChunk> => {
    const url = chunkUrl(chunk, urls[(number - 1) % urls.length] ?? '');
    try {
      return await memory.unpack(chunk, (into) =>
        fetchSmall(url.href, 'a chunk of the image', packedLimit(chunk), { signal, headers, rules, kept, into }),
      );
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
    onRetry: (error, number) => onFailedTry?.(error, number, urls[(number - 1) % urls.length] ?? ''),
  });
}

/** With the index's query: a token for the folder is there. One that holds for the index alone gets the server's 403. */
function chunkUrl({ id }: Chunk, indexUrl: string): URL {
  const url = new URL(`default.castr/${id.slice(0, 4)}/${id}.cacnk`, indexUrl);
  url.search = new URL(indexUrl).search;
  return url;
}
