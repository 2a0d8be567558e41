import type { WebSocket } from 'ws';
import type { Line } from '#shared/terminal/terminal.ts';
import { closeSocket } from '#shared/web-socket/close-socket.ts';
import { highWaterBytes } from '#shared/web-socket/pump.ts';
import { ConsoleResize } from '#shared/wire/console.ts';

/** Both directions, in the messages of `shared/wire/console.ts`; a closed socket hangs up. */
export function joinSocket(line: Line, socket: WebSocket): void {
  line.onOutput((bytes) => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(bytes, () => {
      if (socket.bufferedAmount < highWaterBytes / 2) line.resume();
    });
    if (socket.bufferedAmount > highWaterBytes) line.pause();
  });
  line.onDrain(() => socket.readyState === socket.OPEN && socket.resume());
  socket.on('message', (data, isBinary) => {
    if (isBinary) {
      if (!line.write(data as Buffer)) socket.pause();
      return;
    }
    const resize = ConsoleResize.safeParse(parseJson((data as Buffer).toString()));
    if (resize.success) line.resize(resize.data.columns, resize.data.rows);
    else closeSocket(socket, 1008, 'a text message must be {"type":"resize","columns":…,"rows":…}');
  });
  socket.once('close', () => line.hangUp());
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // fails its schema
  }
}
