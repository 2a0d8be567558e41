import { connect, type LookupFunction } from 'node:net';

/**
 * Opens a connection to `HOST:PORT` and closes it, to see whether somebody listens there. Nothing is sent or read.
 * @param lookup resolves names, and may refuse where they lead
 * @throws the error of the attempt, or the signal's reason
 */
export function openConnection(target: string, signal: AbortSignal, lookup?: LookupFunction): Promise<void> {
  const { host, port } = splitHostPort(target);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal, ...(lookup ? { lookup } : {}) });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
  });
}

/** Splits `192.0.2.1:22`, `[2001:db8::1]:22` or `host.example:22`; of another text the port is NaN. Pure. */
export function splitHostPort(target: string): { readonly host: string; readonly port: number } {
  const colon = target.lastIndexOf(':');
  return { host: target.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(target.slice(colon + 1)) };
}
