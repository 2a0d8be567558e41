import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, request } from 'undici';
import { AppError } from '#shared/errors/app-error.ts';

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
  const what = `fetch ${new URL(url).origin}${new URL(url).pathname}`;
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
