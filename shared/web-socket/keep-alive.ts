import type { WebSocket } from 'ws';

/** Milliseconds between two pings: below the minute after which stateful firewalls forget an idle connection. */
const pingIntervalMs = 20_000;

/**
 * Pings the other side, and cuts the connection when it has been silent for two intervals: TCP alone would not notice a
 * machine that has lost its power. A connection that we do not read from at the moment is left alone, for its pongs are
 * not read either.
 */
export function keepAlive(socket: WebSocket, intervalMs: number = pingIntervalMs): void {
  let missed = 0;
  socket.on('pong', () => {
    missed = 0;
  });
  const timer = setInterval(() => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.isPaused) missed = 0;
    if (missed >= 2) {
      socket.terminate();
      return;
    }
    missed += 1;
    socket.ping();
  }, intervalMs);
  socket.once('close', () => clearInterval(timer));
}
