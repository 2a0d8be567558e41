import { createHash } from 'node:crypto';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type TLSSocket } from 'node:tls';
import { AppError } from '#shared/errors/app-error.ts';
import { type OutboundRules, outboundLookup } from '#shared/peers/outbound-url.ts';

/** A TCP or TLS connection that reads into the caller's memory. */
export interface Connection {
  write(text: string): void;
  /** Fills `into` to its end, or to the end of the stream; the number of bytes read. */
  fill(into: Uint8Array): Promise<number>;
  /** The next line without its line ending; `undefined` at the end of the stream. */
  readLine(): Promise<string | undefined>;
  /** Whether another request may be sent: it is open, and nothing came that nobody asked for. */
  isFree(): boolean;
  /** From now on this signal ends it, in place of the one before. */
  watch(signal: AbortSignal | undefined): void;
  close(): void;
}

export interface ConnectionOptions {
  /** Milliseconds without a byte while one is awaited; also for the connect. */
  readonly idleTimeoutMs: number;
  /** Milliseconds of waiting after which the rate is judged; default one minute. */
  readonly rateWindowMs?: number;
  readonly signal: AbortSignal;
  /** Where connections may go, by the address that a name has; `undefined` = anywhere. */
  readonly rules?: OutboundRules | undefined;
  /** Whether the server's certificate is checked; default true. */
  readonly verify?: boolean;
  /** SHA-256 of the only certificate that is trusted, hex of its DER: nothing is sent to another. */
  readonly pin?: string | undefined;
  /** Where connections wait for the next request; all users of it have the same rules. `undefined` = none is kept. */
  readonly kept?: KeptConnections | undefined;
}

/** Idle connections by origin; never more than there were requests at once. */
export type KeptConnections = Map<string, Connection[]>;

const receiveBytes = 256 * 1024;
const maxLineBytes = 16 * 1024;
const lineFeed = 0x0a;
/** Below this a connection that still trickles counts as broken: another try, or another server, may do better. */
const minBytesPerSecond = 1024;

interface Waiter {
  readonly into: Uint8Array;
  filled: number;
  readonly settle: PromiseWithResolvers<number>;
}

/**
 * Opens a connection. Data that arrived and nobody has taken yet stays in `rest`, with reading paused: that is the
 * back-pressure.
 */
export function openConnection(url: URL, options: ConnectionOptions): Connection {
  const state = { rest: new Uint8Array() as Uint8Array, ended: false, failure: undefined as AppError | undefined };
  let waiter: Waiter | undefined;
  const rate = createRateWatch(options.rateWindowMs ?? 60_000);

  const deliver = (): void => {
    if (waiter === undefined) return;
    const taken = state.rest.subarray(0, waiter.into.length - waiter.filled);
    waiter.into.set(taken, waiter.filled);
    waiter.filled += taken.length;
    state.rest = state.rest.subarray(taken.length);
    const isFull = waiter.filled === waiter.into.length;
    if (!isFull && state.failure === undefined && !state.ended) return;
    // what arrived before the break counts: a resumed download goes on behind it
    if (isFull || state.failure === undefined || waiter.filled > 0) waiter.settle.resolve(waiter.filled);
    else waiter.settle.reject(state.failure);
    waiter = undefined;
    rate.pause();
  };
  const fail = (message: string, cause?: unknown): void => {
    state.failure ??= new AppError('unavailable', message, { cause });
    deliver();
    socket.destroy();
  };
  /** Whether more may come at once. */
  const receive = (bytes: Uint8Array): boolean => {
    state.rest = bytes;
    if (rate.isTooSlow(bytes.length)) fail(`${url.host} sends less than ${minBytesPerSecond} bytes per second`);
    deliver();
    return waiter !== undefined;
  };
  const socket = url.protocol === 'https:' ? openTls(url, receive, options) : openTcp(url, receive, options);
  const finish = (): void => {
    state.ended = true;
    deliver();
  };
  let watched: AbortSignal | undefined;
  const onAbort = (): void => fail(`the connection to ${url.host} was given up`, watched?.reason);
  const watch = (signal: AbortSignal | undefined): void => {
    watched?.removeEventListener('abort', onAbort);
    watched = signal;
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  };
  socket.on('error', (cause) => {
    // refused, and not to be tried again
    if (cause instanceof AppError) state.failure ??= cause;
    fail(`the connection to ${url.host} broke`, cause);
  });
  socket.on('end', finish);
  socket.on('close', () => {
    watch(undefined);
    finish();
  });
  socket.on('timeout', () => {
    if (waiter) fail(`${url.host} sent nothing for ${options.idleTimeoutMs} ms`);
  });
  watch(options.signal);

  const fill = (into: Uint8Array): Promise<number> => {
    const settle = Promise.withResolvers<number>();
    waiter = { into, filled: 0, settle };
    deliver();
    if (waiter) {
      rate.resume();
      socket.setTimeout(options.idleTimeoutMs);
      socket.resume();
    }
    return settle.promise;
  };
  const trusted = options.pin === undefined ? undefined : trustOnly(options.pin, socket, fail);
  return {
    write: (text) => {
      if (trusted) void trusted.then(() => socket.write(text));
      else socket.write(text);
    },
    fill,
    readLine: () => readLine(state, fill),
    isFree: () => !state.ended && state.failure === undefined && state.rest.length === 0,
    watch,
    close: () => {
      socket.destroy();
    },
  };
}

/**
 * Node's streams, and every HTTP client on them, allocate a buffer for each 64 KiB that arrive: 1.2 s of processor
 * time and 100 MB of garbage for an image of 1.5 GiB, against 0.2 s here. So the socket reads into one buffer of its
 * own (`onread`).
 */
function openTcp(url: URL, receive: (bytes: Uint8Array) => boolean, options: ConnectionOptions): Socket {
  const buffer = Buffer.allocUnsafeSlow(receiveBytes);
  return connectTcp({
    host: hostOf(url),
    port: Number(url.port) || 80,
    ...lookupOf(options),
    // false stops reading: the next bytes would overwrite what nobody has taken yet
    onread: { buffer, callback: (bytes) => receive(buffer.subarray(0, bytes)) },
  });
}

/**
 * `onread` is not for TLS: a TLS socket goes on calling back with the records it has already received when the
 * callback says stop, and they overwrite what nobody has taken yet. A paused stream keeps them in order.
 */
function openTls(url: URL, receive: (bytes: Uint8Array) => boolean, options: ConnectionOptions): Socket {
  const host = hostOf(url);
  const socket = connectTls({
    host,
    port: Number(url.port) || 443,
    servername: isIP(host) ? '' : host,
    rejectUnauthorized: options.pin === undefined && (options.verify ?? true),
    ...(options.pin === undefined ? {} : { secureContext: withoutAuthorities }),
    ...lookupOf(options),
  });
  socket.pause();
  socket.on('data', (chunk: Buffer) => {
    if (!receive(chunk)) socket.pause();
  });
  return socket;
}

/** Resolves once the server has shown the certificate; else the connection fails. */
function trustOnly(pin: string, socket: Socket, fail: (message: string) => void): Promise<void> {
  return new Promise((resolve) => {
    socket.once('secureConnect', () => {
      const shown = (socket as TLSSocket).getPeerX509Certificate()?.raw;
      if (shown && createHash('sha256').update(shown).digest('hex') === pin) resolve();
      else fail('the server has another certificate than it is known by');
    });
  });
}

function lookupOf({ rules }: ConnectionOptions): { readonly lookup?: LookupFunction } {
  return rules ? { lookup: outboundLookup(rules) } : {};
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** One for all, and without the list of authorities, whose reading takes longer than a handshake. */
const withoutAuthorities = createSecureContext({ ca: [] });

/** Counts only the time in which bytes are awaited: a slow disk is not the server's fault. */
function createRateWatch(windowMs: number): {
  readonly resume: () => void;
  readonly pause: () => void;
  readonly isTooSlow: (received: number) => boolean;
} {
  const window = { waitedMs: 0, bytes: 0, since: undefined as number | undefined };
  const pause = (): void => {
    if (window.since !== undefined) window.waitedMs += performance.now() - window.since;
    window.since = undefined;
  };
  const resume = (): void => {
    window.since ??= performance.now();
  };
  return {
    pause,
    resume,
    isTooSlow: (received) => {
      window.bytes += received;
      pause();
      resume();
      if (window.waitedMs < windowMs) return false;
      const isSlow = (window.bytes * 1000) / window.waitedMs < minBytesPerSecond;
      Object.assign(window, { waitedMs: 0, bytes: 0 });
      return isSlow;
    },
  };
}

async function readLine(state: { rest: Uint8Array }, fill: Connection['fill']): Promise<string | undefined> {
  let line = '';
  const byte = new Uint8Array(1);
  for (;;) {
    let taken = takeToLineEnd(state);
    if (taken.length === 0) {
      if ((await fill(byte)) === 0) return undefined;
      taken = byte;
    }
    line += Buffer.from(taken.buffer, taken.byteOffset, taken.length).toString('latin1');
    if (line.length > maxLineBytes) throw new AppError('unavailable', 'the server sent an endless header line');
    if (taken.at(-1) === lineFeed) return line.replace(/\r?\n$/, '');
  }
}

/** Takes what is here: up to the end of a line, or all. */
function takeToLineEnd(state: { rest: Uint8Array }): Uint8Array {
  const end = state.rest.indexOf(lineFeed) + 1;
  const taken = state.rest.subarray(0, end === 0 ? state.rest.length : end);
  state.rest = state.rest.subarray(taken.length);
  return taken;
}
