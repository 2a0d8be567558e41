import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import { drainServer } from '#conductor/http/listen.ts';

async function serve() {
  const stopping = new AbortController();
  const held: (() => void)[] = [];
  const server = createServer((incoming, response) => {
    const answer = (): void => void response.end('whole');
    if (incoming.url === '/held') held.push(answer);
    else answer();
  });
  const { close } = drainServer(server, stopping.signal);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port');
  const agent = new Agent({ keepAlive: true });
  const get = (path: string) => {
    const sent = request({ host: '127.0.0.1', port: address.port, path, agent }).end();
    return once(sent, 'response').then(async ([answer]: IncomingMessage[]) => {
      if (!answer) throw new Error('no answer');
      const text = (await answer.toArray()).join('');
      return { connection: answer.headers.connection, text };
    });
  };
  return { stop: () => stopping.abort(), close, get, held, server };
}

test('a server that stops answers on, and has each connection used once', async () => {
  const { stop, close, get } = await serve();
  expect(await get('/')).toEqual({ connection: 'keep-alive', text: 'whole' });
  stop();
  expect(await get('/')).toEqual({ connection: 'close', text: 'whole' });
  await close();
});

test('a request under way is answered in full, and the server ends at once after it', async () => {
  const { stop, close, get, held, server } = await serve();
  const asked = once(server, 'request');
  const answer = get('/held');
  await asked;
  stop();
  const closed = close();
  held.forEach((reply) => reply());
  expect(await answer).toEqual({ connection: 'close', text: 'whole' });
  await closed;
});
