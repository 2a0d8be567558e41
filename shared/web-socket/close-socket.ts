import type { WebSocket } from 'ws';
import type { ConsoleEnd } from '#shared/wire/console.ts';

/** For the other side's closing word; then the connection is cut. */
const closeGraceMs = 2000;

/** What close frames may carry (RFC 6455 §5.5.1). */
const maxReasonBytes = 123;

/** Closes from our side, and sees to it that the connection is gone soon whatever the other side does. */
export function closeSocket(socket: WebSocket, code: number, reason: string): void {
  if (socket.readyState === socket.CLOSED) return;
  const timer = setTimeout(() => socket.terminate(), closeGraceMs);
  socket.once('close', () => clearTimeout(timer));
  if (socket.readyState === socket.CONNECTING) {
    socket.terminate();
    return;
  }
  if (socket.isPaused) socket.resume(); // the closing handshake is read like everything else
  socket.close(code, truncate(reason));
}

/** Says why in a last message, whose length is not limited as that of a close frame is, and closes. */
export function endConsole(socket: WebSocket, end: Omit<ConsoleEnd, 'type'>, code = 1000): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.send(JSON.stringify({ type: 'end', ...end } satisfies ConsoleEnd));
  closeSocket(socket, code, end.reason);
}

function truncate(text: string): string {
  let short = text;
  while (Buffer.byteLength(short) > maxReasonBytes) short = short.slice(0, -1);
  return short;
}
