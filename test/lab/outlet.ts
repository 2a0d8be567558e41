import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { startLabProcess } from '#test/lab/inside.ts';
import type { LabSite } from '#test/lab/lab.ts';

/** The gate's counterpart: lets programs inside the namespace reach ports of the loopback outside, under the same numbers. */
export interface Outlet {
  offer(...ports: readonly number[]): Promise<void>;
}

export async function openOutlet({ directory, defer }: Pick<LabSite, 'directory' | 'defer'>): Promise<Outlet> {
  const socketPath = join(directory.sockets, 'outlet.sock');
  const sockets = new Set<Socket>();
  const ready: (() => void)[] = [];
  const server = createServer((near) => {
    track(sockets, near);
    readLine(near, (line) => {
      if (line === 'ready') ready.shift()?.();
      else carry(sockets, near, Number(line));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, resolve);
  });
  defer(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    offer: async (...ports) => {
      const name = `outlet-${ports.join('-')}`;
      const args = [join(import.meta.dirname, 'outlet-process.ts'), socketPath, ...ports.map(String)];
      const listens = new Promise<void>((resolve) => void ready.push(resolve));
      const inside = startLabProcess(process.execPath, args, {
        namespace: directory.namespace,
        directory: directory.path,
        name,
      });
      defer(() => inside.stop());
      const ended = inside.exited.then((code) => {
        throw new AppError('command_failed', `the outlet for ${ports.join(', ')} ended with ${code} at its start`);
      });
      await Promise.race([listens, ended]);
    },
  };
}

function carry(sockets: Set<Socket>, near: Socket, port: number): void {
  const far = createConnection({ host: '127.0.0.1', port });
  track(sockets, far);
  near.on('close', () => far.destroy());
  far.on('close', () => near.destroy());
  near.pipe(far).pipe(near);
}

function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.on('error', () => undefined); // its other end is gone, which that end's owner sees
  socket.on('close', () => sockets.delete(socket));
}

/** Byte by byte up to the end of the line: the rest belongs to the connection. */
function readLine(socket: Socket, then: (line: string) => void): void {
  let line = '';
  const onReadable = (): void => {
    for (let byte = socket.read(1) as Buffer | null; byte !== null; byte = socket.read(1) as Buffer | null) {
      if (byte[0] === 10) {
        socket.off('readable', onReadable);
        then(line);
        return;
      }
      line += byte.toString('latin1');
    }
  };
  socket.on('readable', onReadable);
}
