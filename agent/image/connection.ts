import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AppError } from '#shared/errors/app-error.ts';

/** A TCP or TLS connection that reads into the caller's memory. */
export interface Connection {
  write(text: string): void;
  /** Fills `into` to its end, or to the end of the stream; the number of bytes read. */
  fill(into: Uint8Array): Promise<number>;
  /** The next line without its line ending; `undefined` at the end of the stream. */
  readLine(): Promise<string | undefined>;
  close(): void;
}

export interface ConnectionOptions {
  /** Milliseconds without a byte while one is awaited; also for the connect. */
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal;
}

const receiveBytes = 256 * 1024;
const maxLineBytes = 16 * 1024;

interface Waiter {
  readonly into: Uint8Array;
  filled: number;
  readonly settle: PromiseWithResolvers<number>;
}

/**
 * Node's streams, and every HTTP client on them, allocate a buffer for each 64 KiB that arrive: 1.2 s of processor
 * time and 100 MB of garbage for an image of 1.5 GiB, against 0.2 s here. So the socket reads into one buffer of its
 * own (`onread`), and what the caller has no room for stays there with reading paused: that is the back-pressure.
 */
export function openConnection(url: URL, options: ConnectionOptions): Connection {
  const received = Buffer.allocUnsafeSlow(receiveBytes);
  const state = { start: 0, end: 0, ended: false, failure: undefined as AppError | undefined };
  let waiter: Waiter | undefined;

  const deliver = (): void => {
    if (waiter === undefined) return;
    const count = Math.min(state.end - state.start, waiter.into.length - waiter.filled);
    waiter.into.set(received.subarray(state.start, state.start + count), waiter.filled);
    state.start += count;
    waiter.filled += count;
    if (waiter.filled === waiter.into.length || (state.ended && state.start === state.end)) {
      waiter.settle.resolve(waiter.filled);
      waiter = undefined;
    } else if (state.failure) {
      // what arrived before the break counts: a resumed download goes on behind it
      if (waiter.filled > 0) waiter.settle.resolve(waiter.filled);
      else waiter.settle.reject(state.failure);
      waiter = undefined;
    }
  };
  const fail = (message: string, cause?: unknown): void => {
    state.failure ??= new AppError('unavailable', message, { cause });
    deliver();
    socket.destroy();
  };
  const socket = openSocket(url, {
    buffer: received,
    callback: (bytes) => {
      state.start = 0;
      state.end = bytes;
      deliver();
      // reading on would overwrite what nobody has taken yet
      return waiter !== undefined;
    },
  });
  const finish = (): void => {
    state.ended = true;
    deliver();
  };
  const onAbort = (): void => fail(`the connection to ${url.host} was given up`, options.signal.reason);
  socket.on('error', (cause) => fail(`the connection to ${url.host} broke`, cause));
  socket.on('end', finish);
  socket.on('close', () => {
    options.signal.removeEventListener('abort', onAbort);
    finish();
  });
  socket.on('timeout', () => {
    if (waiter) fail(`${url.host} sent nothing for ${options.idleTimeoutMs} ms`);
  });
  if (options.signal.aborted) onAbort();
  else options.signal.addEventListener('abort', onAbort, { once: true });

  const fill = (into: Uint8Array): Promise<number> => {
    const settle = Promise.withResolvers<number>();
    waiter = { into, filled: 0, settle };
    deliver();
    if (waiter) {
      socket.setTimeout(options.idleTimeoutMs);
      socket.resume();
    }
    return settle.promise;
  };
  return {
    write: (text) => {
      socket.write(text);
    },
    fill,
    readLine: () => readLine(fill),
    close: () => {
      socket.destroy();
    },
  };
}

function openSocket(url: URL, onread: OnReadOpts): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  // TLS takes `onread` as well (Node's documentation of tls.connect); its type leaves it out
  const tlsOptions = { host, port, servername: isIP(host) ? '' : host, onread };
  return url.protocol === 'https:' ? connectTls(tlsOptions) : connectTcp({ host, port, onread });
}

async function readLine(fill: Connection['fill']): Promise<string | undefined> {
  const line: number[] = [];
  const byte = new Uint8Array(1);
  for (;;) {
    if ((await fill(byte)) === 0) return undefined;
    const [value = 0] = byte;
    if (value === 0x0a) break;
    if (line.length === maxLineBytes) throw new AppError('unavailable', 'the server sent an endless header line');
    line.push(value);
  }
  return Buffer.from(line).toString('latin1').replace(/\r$/, '');
}
