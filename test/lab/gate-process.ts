import { createConnection, createServer, type Socket } from 'node:net';

/**
 * A program: lets a client outside the lab's namespace open TCP connections inside it, through the unix socket named
 * by the first argument. A client sends one line `<host> <port>\n`, is answered `ok\n` or `error <why>\n`, and is then
 * connected.
 */
const [socketPath] = process.argv.slice(2);
const server = createServer((client) => {
  let line = '';
  const onData = (chunk: Buffer): void => {
    line += chunk.toString('latin1');
    const end = line.indexOf('\n');
    if (end < 0) return;
    client.off('data', onData);
    client.pause();
    const rest = line.slice(end + 1);
    if (rest !== '') client.unshift(Buffer.from(rest, 'latin1'));
    const [host = '', port = ''] = line.slice(0, end).split(' ');
    connect(client, host, Number(port));
  };
  client.on('data', onData);
  client.on('error', () => client.destroy());
});
server.listen(socketPath);

function connect(client: Socket, host: string, port: number): void {
  const target = createConnection({ host, port });
  target.once('connect', () => {
    client.write('ok\n');
    client.pipe(target).pipe(client);
  });
  target.on('error', (error) => {
    if (target.connecting) client.end(`error ${error.message}\n`);
    else client.destroy();
  });
  client.once('close', () => target.destroy());
}
