import { readFile } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSecureContext } from 'node:tls';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import type { TlsConfig } from '#conductor/auth/auth-settings.ts';
import type { ConnectionShares } from '#conductor/http/routing/share-connections.ts';
import { watchHandshakes } from '#conductor/http/routing/watch-handshakes.ts';
import { throwUnreadable, watchFiles } from '#conductor/kernel/files.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { urlHost } from '#shared/peers/address-ranges.ts';
import { readPrivateFile } from '#shared/private-file.ts';
import { acceptWebSockets } from '#shared/web-socket/web-socket.ts';
import { maxConsoleMessageBytes } from '#shared/wire/console.ts';

export interface TlsCertificate {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: 'TLSv1.2';
}

/** The API's certificate, which is renewed while the conductor runs. */
export interface TlsFiles {
  current(): TlsCertificate;
  onChange(listener: (certificate: TlsCertificate) => void): void;
  close(): void;
}

/**
 * A new pair counts once both files are there and belong together; until then the old one does.
 * @throws AppError `invalid_argument` naming the file that can't be used.
 */
export async function openTlsFiles(
  { certFile, keyFile }: TlsConfig,
  options: { readonly log: Log; readonly everyMs?: number },
): Promise<TlsFiles> {
  const read = async (): Promise<TlsCertificate> => {
    const cert = await readFile(certFile, 'utf8').catch(throwUnreadable('BATON_TLS_CERT_FILE', certFile));
    const key = await readPrivateFile(keyFile).catch(throwUnreadable('BATON_TLS_KEY_FILE', keyFile));
    const certificate = { cert, key, minVersion: 'TLSv1.2' } as const;
    try {
      createSecureContext(certificate);
    } catch (cause) {
      throw new AppError(
        'invalid_argument',
        `BATON_TLS_CERT_FILE: ${certFile} and ${keyFile} are not a matching pair in PEM`,
        {
          cause,
        },
      );
    }
    return certificate;
  };
  const listeners: ((certificate: TlsCertificate) => void)[] = [];
  const files = await watchFiles([certFile, keyFile], read, {
    ...options,
    onChange: (certificate) => listeners.forEach((listener) => listener(certificate)),
  });
  return { ...files, onChange: (listener) => listeners.push(listener) };
}

/** For the requests under way; a node that fetches an image then fetches the rest elsewhere. */
const requestsMs = 30_000;
const sweepMs = 50;

/**
 * Ends an HTTP server without breaking a request. Once `stopping` aborts, each answer says `Connection: close`: a client
 * that used the connection again at the moment of its end could not know whether its request was heard.
 */
export function drainServer(server: Server, stopping: AbortSignal): { readonly close: () => Promise<void> } {
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

/** A config drive of 32 MiB comes within it; after it, and after so long for the headers, who sends slowly is cut off. */
const requestTimeout = 120_000;
const headersTimeout = 20_000;
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
    /** Gets addresses whose TLS connections end without a request (`watchHandshakes`). */
    readonly onBrokenHandshake?: (address: string) => void;
    /** Shares of connections of all ports of the process; absent = no limit. */
    readonly connections?: Pick<ConnectionShares, 'watch'>;
    /** Where the port comes from, for the error that it is taken. */
    readonly setting?: string;
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
  address.connections?.watch(server as Server);
  tls?.onChange((certificate) => (server as HttpsServer).setSecureContext(certificate));
  const stopping = address.stopping ?? neverStopping;
  // of HTTP/2 there is none, and TLS changes nothing here
  const draining = drainServer(server as Server, stopping);
  const { onBrokenHandshake: onBroken } = address;
  if (tls && onBroken) watchHandshakes(server as HttpsServer, { stopping, onBroken });
  const source = address.setting === undefined ? '' : ` (${address.setting})`;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new AppError('unavailable', `listen on ${address.host} port ${address.port}${source}`, { cause })),
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
