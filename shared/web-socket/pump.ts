import type { WebSocket } from 'ws';

/** What may wait in memory for a slow receiver, in bytes; above it the sender is not read from. */
export const highWaterBytes = 256 * 1024;

/** Passes on every message as it is, and stops reading while the receiver is slow. */
export function pump(from: WebSocket, to: WebSocket): void {
  from.on('message', (data, isBinary) => {
    if (to.readyState !== to.OPEN) return;
    to.send(data as Buffer, { binary: isBinary }, () => {
      if (from.isPaused && to.bufferedAmount < highWaterBytes / 2) from.resume();
    });
    if (to.bufferedAmount > highWaterBytes) from.pause();
  });
}
