import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** First and last byte, both included. */

const chunkBytes = 256 * 1024;

/** Bytes that are sent as they are asked for. */
export interface Content {
  /** Bytes. */
  readonly size: number;
  readonly etag: string;
  readonly lastModified: string;
  /** The bytes from `position` on, `length` at most; none at the end. */
  read(position: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

export interface SendFileOptions {
  /** Only files below it are sent; links that an operator put there are followed. */
  readonly directory: string;
  /** Path as it stands in the URL, percent-encoded: `debian%2012.raw.zst`. */
  readonly urlPath: string;
  readonly log: Log;
  /** Called with how many bytes of the body were taken, when it has ended or was broken off; a HEAD has none. */
  readonly onSent?: ((bytes: number) => void) | undefined;
}

/**
 * Answers GET or HEAD with a file: 200, 206 (one range, `If-Range`), 304, 404 or 416, with `ETag`, `Last-Modified` and
 * `Content-Length`. The body is read piece by piece as the client takes it. (hono's own `serveStatic` knows neither
 * `ETag` nor `If-Range`.)
 */
export async function sendFile(request: Request, options: SendFileOptions): Promise<Response> {
  const name = safeRelativePath(options.urlPath);
  if (name === undefined) return notFound();
  const file = await openRegularFile(join(options.directory, name));
  return file === undefined ? notFound() : sendContent(request, file, { ...options, name });
}

type SendContentOptions = Pick<SendFileOptions, 'log' | 'onSent'> & {
  readonly name: string;
  /** Default `application/octet-stream`. */
  readonly type?: string;
};

/** The same of any content, which is closed in every case; `name` is for the log. */
export async function sendContent(request: Request, content: Content, options: SendContentOptions): Promise<Response> {
  try {
    return await answer(request, content, options);
  } catch (error) {
    await content.close();
    throw error;
  }
}

/**
 * The path below the directory, or `undefined` for one that could lead elsewhere or to a hidden file.
 * An encoded slash stays inside its segment's name, where no file name may have it.
 */
function safeRelativePath(urlPath: string): string | undefined {
  try {
    const segments = urlPath.split('/').map((segment) => decodeURIComponent(segment));
    const bad = segments.some((segment) => segment === '' || segment.startsWith('.') || /[/\\\0]/.test(segment));
    return bad ? undefined : segments.join('/');
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

async function openRegularFile(path: string): Promise<Content | undefined> {
  // without O_NONBLOCK the open of a named pipe would wait for its writer
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    if (isAbsence(error)) return undefined;
    throw new AppError('internal', `file ${path} could not be opened`, { cause: error });
  });
  if (handle === undefined) return undefined;
  const stat = await handle.stat({ bigint: true });
  if (!stat.isFile()) {
    await handle.close();
    return undefined;
  }
  return {
    size: Number(stat.size),
    etag: `"${stat.ino.toString(36)}-${stat.size.toString(36)}-${stat.mtimeNs.toString(36)}"`,
    lastModified: new Date(Number(stat.mtimeMs)).toUTCString(),
    read: async (position, length) => {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafeSlow(length), { position });
      return buffer.subarray(0, bytesRead);
    },
    close: () => handle.close(),
  };
}

async function answer(request: Request, file: Content, options: SendContentOptions): Promise<Response> {
  const common = {
    etag: file.etag,
    'last-modified': file.lastModified,
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
  };
  const bodiless = async (status: number, headers: Record<string, string>): Promise<Response> => {
    await file.close();
    return new Response(null, { status, headers });
  };
  if (isUnchanged(request, file)) return bodiless(304, common);
  const type = { 'content-type': options.type ?? 'application/octet-stream' };
  // a range is for GET alone (RFC 9110 §14.2)
  if (request.method === 'HEAD') return bodiless(200, { ...common, ...type, 'content-length': String(file.size) });
  const header = ifRangeHolds(request, file) ? (request.headers.get('range') ?? undefined) : undefined;
  const range = parseByteRange(header, file.size);
  if (range === 'unsatisfiable') return bodiless(416, { ...common, 'content-range': `bytes */${file.size}` });
  const sent = range === 'whole' ? { first: 0, last: file.size - 1 } : range;
  const headers = { ...common, ...type, 'content-length': String(sent.last - sent.first + 1) };
  const body = readRange(file, sent, options);
  if (range === 'whole') return new Response(body, { status: 200, headers });
  return new Response(body, {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${sent.first}-${sent.last}/${file.size}` },
  });
}

function isUnchanged(request: Request, file: Content): boolean {
  const known = request.headers.get('if-none-match');
  if (known !== null) {
    return known.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === file.etag);
  }
  const since = request.headers.get('if-modified-since');
  return since !== null && Date.parse(file.lastModified) <= Date.parse(since);
}

/** Whether the client's part is of this very file; otherwise it gets the whole. */
function ifRangeHolds(request: Request, file: Content): boolean {
  const condition = request.headers.get('if-range');
  return condition === null || condition === file.etag || condition === file.lastModified;
}

/** Reads only when the client has taken what was read before; closes the file in every case. */
function readRange(
  file: Content,
  range: ByteRange,
  { name, log, onSent }: SendContentOptions,
): ReadableStream<Uint8Array> {
  let position = range.first;
  const close = async (): Promise<void> => {
    onSent?.(position - range.first);
    await file.close();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const left = range.last + 1 - position;
        if (left === 0) {
          await close();
          controller.close();
          return;
        }
        try {
          const bytes = await file.read(position, Math.min(chunkBytes, left));
          // the length has been promised: ending the body early would leave the client waiting for the rest
          if (bytes.length === 0) throw new AppError('internal', `file ${name} became shorter while it was sent`);
          position += bytes.length;
          controller.enqueue(bytes);
        } catch (error) {
          log.warn({ err: error, file: name }, 'sending a file failed');
          await close();
          throw error;
        }
      },
      cancel: close,
    },
    { highWaterMark: 2 },
  );
}

function isAbsence(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ENXIO', 'EISDIR'].includes(code);
}

export function notFound(): Response {
  return new Response('no such file\n', { status: 404, headers: { 'content-type': 'text/plain' } });
}

interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Reads a `Range` header (RFC 9110 §14). `whole` = send everything: no header, another unit, bad syntax, or several
 * ranges at once, which a server may answer so. `unsatisfiable` = 416.
 */
export function parseByteRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '');
  const [, from, to] = match ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'whole';
  if (from === '') {
    const length = Number(to);
    return length === 0 || size === 0 ? 'unsatisfiable' : { first: Math.max(0, size - length), last: size - 1 };
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return 'whole';
  if (first >= size) return 'unsatisfiable';
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) };
}
