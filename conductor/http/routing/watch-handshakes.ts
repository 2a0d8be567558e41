import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';

/** Connections without a request, one after the other, from which on an address is reported. */
const inARow = 2;
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
  const broken = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    if (address === undefined) return;
    const key = keyOf(socket);
    unheard.add(key);
    socket.once('close', () => {
      if (!unheard.delete(key) || stopping.aborted) return;
      const count = (broken.get(address) ?? 0) + 1;
      broken.delete(address);
      broken.set(address, count);
      const [oldest] = broken.keys();
      if (broken.size > maxAddresses && oldest !== undefined) broken.delete(oldest);
      if (count >= inARow) onBroken(address);
    });
  });
  const hear = ({ socket }: IncomingMessage): void => {
    unheard.delete(keyOf(socket));
    broken.delete(socket.remoteAddress ?? '');
  };
  server.prependListener('request', hear);
  server.prependListener('upgrade', hear);
}

/** Returns the key of a connection, for which TLS has a socket of its own. */
function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
