import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** For the requests under way; a node that fetches an image then fetches the rest elsewhere. */
const requestsMs = 30_000;
const sweepMs = 50;

/**
 * Ends an HTTP server without breaking a request. Once `stopping` aborts, each answer says `Connection: close`: a client
 * that used the connection again at the moment of its end could not know whether its request was heard.
 */
export function drain(server: Server, stopping: AbortSignal): { readonly close: () => Promise<void> } {
  const underWay = new Set<ServerResponse>();
  const sayClose = (response: ServerResponse): void => {
    response.shouldKeepAlive = false;
  };
  server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
    if (stopping.aborted) sayClose(response);
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
  });
  stopping.addEventListener('abort', () => underWay.forEach(sayClose));
  return {
    close: () =>
      new Promise((resolve, reject) => {
        underWay.forEach(sayClose);
        const sweep = setInterval(() => server.closeIdleConnections(), sweepMs);
        const limit = setTimeout(() => server.closeAllConnections(), requestsMs);
        server.close((error) => {
          clearInterval(sweep);
          clearTimeout(limit);
          if (error) reject(error);
          else resolve();
        });
      }),
  };
}
