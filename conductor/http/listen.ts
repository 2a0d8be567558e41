import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Serves the app.
 * @throws AppError `unavailable` when address and port can't be listened on.
 */
export async function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  address: { readonly host: string; readonly port: number },
): Promise<{ readonly url: string; readonly port: number; close(): Promise<void> }> {
  const server = createAdaptorServer({ fetch });
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
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        if ('closeAllConnections' in server) server.closeAllConnections();
      }),
  };
}
