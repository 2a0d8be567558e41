import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How the server answers one request; the default is as a good server does. */
export interface Behaviour {
  readonly status?: number;
  /** `Retry-After` beside the status. */
  readonly retryAfter?: string;
  /** Breaks the connection after so many bytes of the body. */
  readonly dropAfter?: number;
  /** Sends nothing more after so many bytes of the body. */
  readonly stallAfter?: number;
  readonly ignoreRange?: boolean;
  /** `''` for none. */
  readonly etag?: string;
  readonly lastModified?: string;
  /** Whatever If-Range says. */
  readonly ignoreCondition?: boolean;
  /** Requests for ranges are answered 416, whichever. */
  readonly refusesRanges?: boolean;
  /** Ranges begin so many bytes late. */
  readonly shiftsRange?: number;
  /** Any request for a range brings all of the file, called a range of it (206). */
  readonly rangeFromStart?: boolean;
  readonly contentEncoding?: string;
  readonly chunked?: boolean;
  /** Ranges are answered with `bytes 5-9/*`. */
  readonly hidesTotal?: boolean;
  /** Ranges end after so many bytes. */
  readonly rangeBytes?: number;
  /** No Content-Length, no chunks: the body ends with the connection. */
  readonly untilClose?: boolean;
  readonly location?: string;
  readonly body?: Buffer;
}

export interface ImageServer extends AsyncDisposable {
  readonly url: string;
  /** The requests so far: `Range` header or `whole`. */
  readonly requests: readonly string[];
  readonly headers: readonly IncomingMessage['headers'][];
}

/** Serves `data` at any path; the n-th request is answered as the n-th behaviour says, later ones as `always` does. */
export async function serveImage(
  data: Buffer,
  behaviours: readonly Behaviour[] = [],
  always: Behaviour = {},
): Promise<ImageServer> {
  const requests: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    const behaviour = behaviours[requests.length] ?? always;
    requests.push(request.headers.range ?? 'whole');
    headers.push(request.headers);
    answer(data, behaviour, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/disk.raw`,
    requests,
    headers,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(data: Buffer, behaviour: Behaviour, request: IncomingMessage, response: ServerResponse): void {
  if (behaviour.location !== undefined) {
    response.writeHead(302, { location: behaviour.location }).end();
    return;
  }
  const status = behaviour.refusesRanges && request.headers.range !== undefined ? 416 : behaviour.status;
  if (status !== undefined) {
    response
      .writeHead(status, behaviour.retryAfter === undefined ? {} : { 'Retry-After': behaviour.retryAfter })
      .end('no');
    return;
  }
  const file = behaviour.body ?? data;
  const etag = behaviour.etag ?? '"v1"';
  const start =
    behaviour.rangeFromStart && request.headers.range !== undefined
      ? 0
      : behaviour.ignoreRange
        ? undefined
        : wantedStart(request, behaviour.ignoreCondition ? undefined : etag);
  const from = start === undefined ? undefined : start + (behaviour.shiftsRange ?? 0);
  const end = from === undefined ? file.length : wantedEnd(request, behaviour, from, file.length);
  const body = file.subarray(from ?? 0, end);
  if (behaviour.untilClose) {
    response.socket?.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), body]));
    return;
  }
  response.writeHead(from === undefined ? 200 : 206, {
    ...(etag === '' ? {} : { etag }),
    ...(behaviour.lastModified ? { 'last-modified': behaviour.lastModified } : {}),
    ...(behaviour.contentEncoding ? { 'content-encoding': behaviour.contentEncoding } : {}),
    ...(behaviour.chunked ? {} : { 'content-length': body.length }),
    ...(from === undefined
      ? {}
      : { 'content-range': `bytes ${from}-${end - 1}/${behaviour.hidesTotal ? '*' : file.length}` }),
  });
  if (behaviour.stallAfter !== undefined) response.write(body.subarray(0, behaviour.stallAfter));
  else if (behaviour.dropAfter === undefined) response.end(body);
  else response.write(body.subarray(0, behaviour.dropAfter), () => response.socket?.destroySoon());
}

/** Where the answer to a range request ends. */
function wantedEnd(request: IncomingMessage, behaviour: Behaviour, from: number, length: number): number {
  if (behaviour.rangeBytes !== undefined) return from + behaviour.rangeBytes;
  const last = /-(\d+)$/.exec(request.headers.range ?? '')?.[1];
  return last === undefined ? length : Math.min(Number(last) + 1, length);
}

/** Where a range request wants to begin; `undefined` when it wants all, or another version than this one. */
function wantedStart(request: IncomingMessage, etag: string | undefined): number | undefined {
  const start = /^bytes=(\d+)-\d*$/.exec(request.headers.range ?? '')?.[1];
  const condition = request.headers['if-range'];
  return start === undefined || (etag !== undefined && condition !== undefined && condition !== etag)
    ? undefined
    : Number(start);
}
