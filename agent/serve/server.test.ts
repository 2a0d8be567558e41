import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Hono } from 'hono';
import { afterEach, expect, test } from 'vitest';
import { type ConnectionLimits, startServer } from '#agent/serve/server.ts';
import { eventually } from '#test/support/eventually.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function serve(limits: ConnectionLimits): Promise<number> {
  const app = new Hono().get('/status', (c) => c.text('well'));
  const server = await startServer(app, { host: '127.0.0.1', port: 0 }, undefined, limits);
  closing.unshift(() => server.close());
  return server.port;
}

async function connectFrom(localAddress: string, port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  socket.on('error', () => undefined);
  closing.unshift(() => socket.destroy());
  await once(socket, 'connect');
  socket.resume(); // its end is seen only by who reads
  return socket;
}

const ask = async (port: number) => (await fetch(`http://127.0.0.1:${port}/status`)).text();

test('a stranger with many connections does not keep the conductor out, nor does it lose its own to itself', async () => {
  const port = await serve({ ofAddress: 8, all: 512, headersMs: 60_000 });
  const sockets = await Promise.all(Array.from({ length: 8 }, () => connectFrom('127.0.0.2', port)));
  const more = await Promise.all(Array.from({ length: 20 }, () => connectFrom('127.0.0.2', port)));
  await Promise.all(more.filter(({ closed }) => !closed).map((socket) => once(socket, 'close')));
  expect(sockets.filter(({ closed }) => closed)).toEqual([]);
  expect(await ask(port)).toBe('well');
  // their places are free again once they have gone
  for (const socket of sockets) socket.destroy();
  await eventually(async () => {
    const [answer] = (await once(
      get({ port, host: '127.0.0.1', localAddress: '127.0.0.2', path: '/status' }),
      'response',
    )) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(200);
  });
});

test('who does not end its headers is cut off, and others are answered meanwhile', async () => {
  const port = await serve({ ofAddress: 8, all: 512, headersMs: 100 });
  const slow = await connectFrom('127.0.0.2', port);
  // on a busy machine it may be cut off while it writes
  slow.on('error', () => undefined);
  const ends = new Promise((resolve) => slow.once('close', resolve));
  slow.write('GET /status HTTP/1.1\r\nX-Slow: ');
  expect(await ask(port)).toBe('well');
  await ends;
});
