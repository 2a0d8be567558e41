import type { WebSocketServerLike } from '@hono/node-server';
import { WebSocketServer } from 'ws';
import { closeSocket } from '#shared/web-socket/close-socket.ts';

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

/** What an HTTP server needs to take WebSockets with messages up to `maxMessageBytes`, uncompressed. */
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
 * Whether a request wants a WebSocket. Others that ask for an upgrade (`h2c`, which Java's client and `curl --http2` do
 * with their first request) get a plain answer: Node would leave them without any as soon as somebody listens for
 * upgrades.
 */
function wantsWebSocket({ url = '', headers }: UpgradeRequest): boolean {
  // for an address that is none, the adapter's upgrade would answer 500
  return String(headers['upgrade']).toLowerCase() === 'websocket' && URL.canParse(url, 'http://localhost');
}
