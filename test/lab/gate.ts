import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { Agent, buildConnector } from 'undici';
import { AppError } from '#shared/errors/app-error.ts';
import { startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/**
 * An undici dispatcher whose connections start inside the lab's namespace: the lab is an operator on the provisioning
 * network, and a client on the tenant network, while its own process stays outside.
 */
export async function openGate(lab: LabDirectory, cleanUp: AsyncDisposableStack): Promise<Agent> {
  const socketPath = join(lab.sockets, 'gate.sock');
  const gate = startLabProcess(process.execPath, [join(import.meta.dirname, 'gate-process.ts'), socketPath], {
    namespace: lab.namespace,
    directory: lab.path,
    name: 'gate',
  });
  cleanUp.defer(() => gate.stop());
  await waitUntil(
    'the gate into the namespace',
    async () => {
      const socket = await openUnixSocket(socketPath);
      socket.destroy();
      return true;
    },
    { everyMs: 50 },
  );
  const connect: buildConnector.connector = (options, callback) => {
    connectInside(socketPath, options.hostname, Number(options.port || 80)).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error as Error, null),
    );
  };
  const agent = new Agent({ connect, headersTimeout: 60_000, bodyTimeout: 60_000 });
  cleanUp.defer(() => agent.destroy());
  return agent;
}

async function connectInside(socketPath: string, host: string, port: number): Promise<Socket> {
  const socket = await openUnixSocket(socketPath);
  socket.write(`${host} ${port}\n`);
  return new Promise((resolve, reject) => {
    let line = '';
    const onReadable = (): void => {
      // byte by byte up to the end of the line: the rest belongs to the connection
      for (let byte = socket.read(1) as Buffer | null; byte !== null; byte = socket.read(1) as Buffer | null) {
        if (byte[0] === 10) {
          settle();
          return;
        }
        line += byte.toString('latin1');
      }
    };
    const settle = (): void => {
      socket.off('readable', onReadable);
      socket.off('close', settle);
      socket.off('error', settle);
      if (line === 'ok') resolve(socket);
      else {
        socket.destroy();
        const why = line.replace(/^error /, '') || 'the gate closed the connection';
        reject(new AppError('unavailable', `connect to ${host}:${port} inside the lab: ${why}`));
      }
    };
    socket.on('readable', onReadable);
    socket.once('close', settle);
    socket.once('error', settle);
  });
}

function openUnixSocket(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
