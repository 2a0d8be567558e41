import type { Server } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { drain } from '#conductor/http/drain.ts';
import type { TlsFiles } from '#conductor/http/tls-files.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { urlHost } from '#shared/peers/address-ranges.ts';
import { acceptWebSockets } from '#shared/web-socket/accept.ts';
import { maxConsoleMessageBytes } from '#shared/wire/console.ts';

/** A config drive of 64 MiB comes within it; after it, and after so long for the headers, who sends slowly is cut off. */
const requestTimeout = 120_000;
const headersTimeout = 20_000;
/** Ten thousand agents, and as many consoles, clients and machines that boot. */
const maxConnections = 20_000;
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
    /** The certificate, read again when it changes; absent = plain HTTP. */
    readonly tls?: TlsFiles | undefined;
  },
): Promise<{ readonly url: string; readonly port: number; close(): Promise<void> }> {
  const webSockets = acceptWebSockets(maxConsoleMessageBytes);
  const host = urlHost(address.host);
  const upgrades = { shouldUpgradeCallback: webSockets.shouldUpgradeCallback, requestTimeout, headersTimeout };
  const { tls } = address;
  const server = createAdaptorServer({
    // load balancers ask after our health by HTTP/1.0, without a Host
    hostname: host,
    fetch: (request, bindings) => fetch(request, bindings as HttpBindings),
    websocket: webSockets.websocket,
    ...(tls
      ? { createServer: createHttpsServer, serverOptions: { ...upgrades, ...tls.current() } }
      : { serverOptions: upgrades }),
  });
  (server as Server).maxConnections = maxConnections;
  tls?.onChange((certificate) => (server as HttpsServer).setSecureContext(certificate));
  // of HTTP/2 there is none, and TLS changes nothing here
  const draining = drain(server as Server, address.stopping ?? neverStopping);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new AppError('unavailable', `listen on ${address.host} port ${address.port}`, { cause })),
    );
    server.listen(address.port, address.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? 'https' : 'http'}://${host}:${port}`,
    port,
    close: async () => {
      webSockets.closeAll('the conductor stops');
      await draining.close();
    },
  };
}
