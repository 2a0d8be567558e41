import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Hono } from 'hono';
import type { AgentConfig } from '#agent/config.ts';
import type { ServerCertificate } from '#agent/tls.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { acceptWebSockets } from '#shared/web-socket/accept.ts';
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
): Promise<RunningServer> {
  const { websocket, shouldUpgradeCallback } = acceptWebSockets(maxConsoleMessageBytes);
  const server = tls
    ? createAdaptorServer({
        fetch: app.fetch,
        websocket,
        createServer: createTlsServer,
        serverOptions: {
          shouldUpgradeCallback,
          key: tls.keyPem,
          cert: tls.certificatePem,
          minVersion: tls.minVersion,
          keepAliveTimeout: keepAliveMs,
          ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
        },
      })
    : createAdaptorServer({
        fetch: app.fetch,
        websocket,
        createServer,
        serverOptions: { keepAliveTimeout: keepAliveMs, shouldUpgradeCallback },
      });
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
