import { type Dispatcher, fetch } from 'undici';
import { showUrl } from '#agent/image/show-url.ts';
import { AppError } from '#shared/errors/app-error.ts';

const timeoutMs = 60_000;

/**
 * Fetches a small document: a checksum file, a config drive.
 * @param what for the message: `the checksum file`
 * @param headers as `authorization`; redirects to another origin go without it
 * @param dispatcher for connections of another kind, such as without a check of certificates
 * @throws AppError `unavailable`, `image_error` (4xx), `invalid_argument` when it is larger than `maxBytes`.
 */
export async function fetchSmall(
  url: string,
  what: string,
  maxBytes: number,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
  dispatcher?: Dispatcher,
): Promise<Buffer> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    const answer = await fetch(url, { signal: limited, headers, ...(dispatcher ? { dispatcher } : {}) });
    if (!answer.ok)
      throw new AppError(
        answer.status >= 500 ? 'unavailable' : 'image_error',
        `${showUrl(url)} answered ${answer.status}`,
      );
    for await (const chunk of answer.body ?? []) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new AppError('invalid_argument', `it is larger than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (cause) {
    const code = cause instanceof AppError ? cause.code : 'unavailable';
    throw new AppError(code, `fetch ${what} from ${showUrl(url)}`, { cause });
  }
  return Buffer.concat(chunks);
}
