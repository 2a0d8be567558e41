import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { drain } from '#conductor/http/drain.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { acceptWebSockets } from '#shared/web-socket/accept.ts';
import { maxConsoleMessageBytes } from '#shared/wire/console.ts';

const neverStopping = new AbortController().signal;

/**
 * Serves the app, and WebSockets where its routes take them.
 * @throws AppError `unavailable` when address and port can't be listened on.
 */
export async function listen(
  fetch: (request: Request, bindings: HttpBindings) => Response | Promise<Response>,
  address: {
    readonly host: string;
    readonly port: number;
    /** Once it aborts, clients are told to use no connection again. */
    readonly stopping?: AbortSignal;
  },
): Promise<{ readonly url: string; readonly port: number; close(): Promise<void> }> {
  const webSockets = acceptWebSockets(maxConsoleMessageBytes);
  const server = createAdaptorServer({
    fetch: (request, bindings) => fetch(request, bindings as HttpBindings),
    websocket: webSockets.websocket,
    serverOptions: { shouldUpgradeCallback: webSockets.shouldUpgradeCallback },
  });
  // without TLS and HTTP/2 options it is one of `node:http`
  const draining = drain(server as Server, address.stopping ?? neverStopping);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new AppError('unavailable', `listen on ${address.host} port ${address.port}`, { cause })),
    );
    server.listen(address.port, address.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${port}`,
    port,
    close: async () => {
      webSockets.closeAll('the conductor stops');
      await draining.close();
    },
  };
}
