import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Hono } from 'hono';
import type { AgentConfig } from '#agent/config.ts';
import type { ServerCertificate } from '#agent/tls.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { acceptWebSockets } from '#shared/web-socket/web-socket.ts';
import { maxConsoleMessageBytes } from '#shared/wire/console.ts';

export interface RunningServer {
  readonly port: number;
  /** Stops listening; resolves when the answers under way are sent. */
  close(): Promise<void>;
}

/**
 * Idle connections stay open: the conductor sends the next step as soon as one ends, and a TLS handshake costs more than
 * the step's hop otherwise does.
 */
const keepAliveMs = 120_000;

/** Anybody on the machine's network can open connections: the conductor's must find room, and the ramdisk memory. */
export interface ConnectionLimits {
  readonly ofAddress: number;
  readonly all: number;
  /** Milliseconds for the TLS handshake, and for the headers of a request. */
  readonly headersMs: number;
}
const connectionLimits: ConnectionLimits = { ofAddress: 32, all: 512, headersMs: 20_000 };

/** For the answers under way when the server stops. */
const closeGraceMs = 2000;

/**
 * Serves the app, over TLS when there is a certificate.
 * @throws AppError `unavailable` when the port can't be had.
 */
export async function startServer(
  app: Hono,
  listen: AgentConfig['listen'],
  tls: (ServerCertificate & AgentConfig['tls']) | undefined,
  limits = connectionLimits,
): Promise<RunningServer> {
  const { headersMs } = limits;
  const common = {
    keepAliveTimeout: keepAliveMs,
    headersTimeout: headersMs,
    connectionsCheckingInterval: Math.ceil(headersMs / 4),
  };
  const { websocket, shouldUpgradeCallback } = acceptWebSockets(maxConsoleMessageBytes);
  const server = tls
    ? createAdaptorServer({
        fetch: app.fetch,
        websocket,
        createServer: createTlsServer,
        serverOptions: {
          ...common,
          shouldUpgradeCallback,
          handshakeTimeout: headersMs,
          key: tls.keyPem,
          cert: tls.certificatePem,
          minVersion: tls.minVersion,
          ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
        },
      })
    : createAdaptorServer({
        fetch: app.fetch,
        websocket,
        createServer,
        serverOptions: { ...common, shouldUpgradeCallback },
      });
  limitConnections(server, limits);
  const listenOn = (host: string): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(listen.port, host, () => {
        server.removeListener('error', reject);
        resolve();
      });
    });
  try {
    await listenOn(listen.host).catch((error: NodeJS.ErrnoException) => {
      // a kernel without IPv6 can't listen on the default, every address of both families
      if (listen.host === '::' && error.code === 'EAFNOSUPPORT') return listenOn('0.0.0.0');
      throw error;
    });
  } catch (cause) {
    throw new AppError('unavailable', `listen on ${listen.host} port ${listen.port}`, { cause });
  }
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        // someone who waits for a command's end (`wait=true`) must not hold up the agent's own
        setTimeout(() => 'closeAllConnections' in server && server.closeAllConnections(), closeGraceMs).unref();
      }),
  };
}

function limitConnections(server: Server, { ofAddress, all }: ConnectionLimits): void {
  const open = new Map<string, number>();
  server.maxConnections = all;
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const count = (open.get(address) ?? 0) + 1;
    open.set(address, count);
    socket.once('close', () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
    if (count > ofAddress) socket.destroy();
  });
}
