import type { WebSocketServerLike } from '@hono/node-server';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ConsoleEnd } from '#shared/wire/console.ts';

/** For the other side's closing word; then the connection is cut. */
const closeGraceMs = 2000;

/** Bytes that the reason of a close frame may have (RFC 6455 §5.5.1). */
const maxReasonBytes = 123;

/** Closes from our side, and sees to it that the connection is gone soon whatever the other side does. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  if (socket.readyState === socket.CLOSED) return;
  const timer = setTimeout(() => socket.terminate(), closeGraceMs);
  socket.once('close', () => clearTimeout(timer));
  if (socket.readyState === socket.CONNECTING) {
    socket.terminate();
    return;
  }
  if (socket.isPaused) socket.resume(); // the closing handshake is read like everything else
  socket.close(code, truncate(reason));
}

/** Says why in a last message, whose length is not limited as that of a close frame is, and closes. */
export function endConsole(socket: WebSocket, end: Omit<ConsoleEnd, 'type'>, code = 1000): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.send(JSON.stringify({ type: 'end', ...end } satisfies ConsoleEnd));
  closeSocket(socket, code, end.reason);
}

function truncate(text: string): string {
  let short = text;
  while (Buffer.byteLength(short) > maxReasonBytes) short = short.slice(0, -1);
  return short;
}

export interface WebSocketAcceptance {
  /** For `createAdaptorServer`. */
  readonly websocket: { readonly server: WebSocketServerLike };
  /** For Node's server. */
  readonly shouldUpgradeCallback: (request: UpgradeRequest) => boolean;
  /** Closes those that are open: a server's own `close` would wait for them. */
  closeAll(reason: string): void;
}

interface UpgradeRequest {
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Gives what an HTTP server needs to take WebSockets with messages up to `maxMessageBytes`, uncompressed. */
export function acceptWebSockets(maxMessageBytes: number): WebSocketAcceptance {
  const server = new WebSocketServer({ noServer: true, maxPayload: maxMessageBytes, perMessageDeflate: false });
  return {
    // the two packages' types differ in nothing that happens
    websocket: { server: server as unknown as WebSocketServerLike },
    shouldUpgradeCallback: wantsWebSocket,
    closeAll: (reason) => {
      for (const socket of server.clients) closeSocket(socket, 1001, reason);
    },
  };
}

/**
 * Returns whether a request wants a WebSocket. Others that ask for an upgrade (`h2c`, which Java's client and `curl --http2`
 * do with their first request) get a plain answer: Node would leave them without any as soon as somebody listens for
 * upgrades.
 */
function wantsWebSocket({ url = '', headers }: UpgradeRequest): boolean {
  // for an address that is none, the adapter's upgrade would answer 500
  return String(headers['upgrade']).toLowerCase() === 'websocket' && URL.canParse(url, 'http://localhost');
}

/** Milliseconds between two pings: below the minute after which stateful firewalls forget an idle connection. */
const pingIntervalMs = 20_000;

/**
 * Pings the other side, and cuts the connection when it has been silent for two intervals: TCP alone would not notice a
 * machine that has lost its power. A connection that we do not read from at the moment is left alone, for its pongs are
 * not read either.
 */
export function keepAlive(socket: WebSocket, intervalMs: number = pingIntervalMs): void {
  let missed = 0;
  socket.on('pong', () => {
    missed = 0;
  });
  const timer = setInterval(() => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.isPaused) missed = 0;
    if (missed >= 2) {
      socket.terminate();
      return;
    }
    missed += 1;
    socket.ping();
  }, intervalMs);
  socket.once('close', () => clearInterval(timer));
}

/** Bytes that may wait in memory for a slow receiver; above it the sender is not read from. */
export const highWaterBytes = 256 * 1024;

/** Passes on every message as it is, and stops reading while the receiver is slow. */
export function passMessages(from: WebSocket, to: WebSocket): void {
  from.on('message', (data, isBinary) => {
    if (to.readyState !== to.OPEN) return;
    to.send(data as Buffer, { binary: isBinary }, () => {
      if (from.isPaused && to.bufferedAmount < highWaterBytes / 2) from.resume();
    });
    if (to.bufferedAmount > highWaterBytes) from.pause();
  });
}
