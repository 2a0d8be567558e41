import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { keepAlive } from '#shared/web-socket/web-socket.ts';

const servers: WebSocketServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    for (const client of server.clients) client.terminate();
    server.close();
  }
});

/** Both ends of a connection. */
async function connection(autoPong: boolean): Promise<{ ours: WebSocket; theirs: WebSocket }> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  servers.push(server);
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const theirs = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, { autoPong });
  const [ours] = (await accepted) as [WebSocket];
  return { ours, theirs };
}

test('a side that does not answer is cut off', async () => {
  const { ours } = await connection(false);
  keepAlive(ours, 20);
  const [code] = (await once(ours, 'close')) as [number];
  expect(code).toBe(1006);
});

test('one that answers stays, and so does one that we do not read from', async () => {
  const { ours, theirs } = await connection(true);
  keepAlive(ours, 20);
  let pings = 0;
  const seen = (count: number): Promise<void> =>
    new Promise((resolve) => {
      theirs.on('ping', () => {
        pings += 1;
        if (pings >= count) resolve();
      });
    });
  await seen(5);
  ours.pause();
  await seen(12);
  expect(ours.readyState).toBe(WebSocket.OPEN);
});
