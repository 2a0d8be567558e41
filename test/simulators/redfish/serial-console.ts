import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';

/** A machine at the other end of a serial line: it asks for a login and repeats what is typed. */
export function talkAsMachine(
  line: Pick<Duplex, 'write'> & { on(event: 'data', heard: (bytes: Buffer) => void): unknown },
): void {
  line.write('node login: ');
  line.on('data', (bytes) => line.write(bytes));
}

/** The serial console over WebSocket, as OpenBMC's `/console/default`. */
export function serveSerialConsole(
  server: Pick<Server, 'on'>,
  admits: (request: IncomingMessage, path: string) => Promise<boolean>,
): void {
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, stream: Duplex, head) => {
    const refuse = (): void => void stream.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
    admits(request, request.url ?? '').then((isAdmitted) => {
      if (!isAdmitted) return refuse();
      sockets.handleUpgrade(request, stream, head, (socket) => {
        talkAsMachine({
          write: (text: string | Buffer) => {
            socket.send(Buffer.from(text));
            return true;
          },
          on: (_event, heard) => socket.on('message', (data) => heard(data as Buffer)),
        });
      });
    }, refuse);
  });
}
