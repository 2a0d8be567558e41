import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { connectionKey } from '#conductor/http/routing/share-connections.ts';

/** Addresses that are remembered; the oldest go first. */
const maxAddresses = 20_000;

/**
 * Watches for clients that end their TLS connections without ever asking anything: those that don't trust the server's
 * certificate. Some send an alert before, others just close (undici checks the certificate after the handshake), so the
 * close is what counts. An address is reported from its second such connection in a row on: clients that give up one
 * request do this once, too.
 * @param onBroken gets the client's address
 */
export function watchHandshakes(
  server: Server,
  { stopping, onBroken }: { readonly stopping: AbortSignal; readonly onBroken: (address: string) => void },
): void {
  const unheard = new Set<string>();
  /** Addresses whose last connection ended without a request. */
  const broken = new Set<string>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    if (address === undefined) return;
    const key = connectionKey(socket);
    unheard.add(key);
    socket.once('close', () => {
      if (!unheard.delete(key) || stopping.aborted) return;
      const isSecond = broken.delete(address);
      broken.add(address);
      const [oldest] = broken;
      if (broken.size > maxAddresses && oldest !== undefined) broken.delete(oldest);
      if (isSecond) onBroken(address);
    });
  });
  const hear = ({ socket }: IncomingMessage): void => {
    unheard.delete(connectionKey(socket));
    broken.delete(socket.remoteAddress ?? '');
  };
  server.prependListener('request', hear);
  server.prependListener('upgrade', hear);
}
