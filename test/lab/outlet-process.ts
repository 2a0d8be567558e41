import { createConnection, createServer } from 'node:net';

/**
 * A program inside the lab's namespace: what connects to one of these ports of its loopback is handed out through the
 * unix socket, each connection after a line `<port>\n`. Once it listens everywhere it says `ready\n` there.
 */
const [socketPath = '', ...ports] = process.argv.slice(2);

async function listen(port: string): Promise<void> {
  const server = createServer((near) => {
    const far = createConnection(socketPath, () => {
      far.write(`${port}\n`);
      near.pipe(far).pipe(near);
    });
    // a connection whose other end is gone; its maker sees that
    for (const socket of [near, far]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(Number(port), '127.0.0.1', resolve);
  });
}

await Promise.all(ports.map(listen));
createConnection(socketPath).end('ready\n');
