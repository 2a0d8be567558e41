import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import { serveChunks } from '#agent/image/neighbours/serve-chunks.ts';
import { startServer } from '#agent/serve/server.ts';
import { systemClock } from '#shared/clock.ts';
import { signTicket } from '#shared/wire/neighbours.ts';

const waits = { timeout: 240_000 };
const group = 'a'.repeat(64);
const path = `/${'b'.repeat(64)}`;
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const bearer = (number: number): string =>
  `Bearer ${signTicket(
    {
      id: number.toString(16).padStart(16, '0'),
      url: `https://127.0.0.1:${number}`,
      certificate_sha256: 'c'.repeat(64),
      group,
      expires: Date.now() + 600_000,
    },
    privateKey,
  )}`;

/** Finds nothing until `answer` is called, or the request has ended. */
function startFinding() {
  const found = Promise.withResolvers<Uint8Array>();
  const state = { now: 0, most: 0 };
  const find = async (_id: string, _waitMs: number, signal: AbortSignal): Promise<Uint8Array> => {
    state.now += 1;
    state.most = Math.max(state.most, state.now);
    const ended = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    try {
      return await Promise.race([found.promise, ended]);
    } finally {
      state.now -= 1;
    }
  };
  const offer = { group: () => group, publicKey: () => publicKey, done: () => 9, meet: () => undefined, find };
  return { state, answer: () => found.resolve(Buffer.from('chunk')), app: serveChunks(() => offer, systemClock) };
}

test('of many requests a bounded number is looked into, fewer of one ticket; the others may come again', async () => {
  const { app, state, answer } = startFinding();
  const ask = async (number: number) => app.request(path, { headers: { authorization: bearer(number) } });
  const ofOne = Array.from({ length: 40 }, () => ask(1));
  const ofOthers = Array.from({ length: 100 }, (_, number) => ask(2 + (number % 10)));
  expect((await ask(1)).status).toBe(503);
  answer();
  const count = async (asked: readonly Promise<Response>[]): Promise<number> =>
    (await Promise.all(asked)).filter(({ status }) => status === 200).length;
  expect([await count(ofOne), await count(ofOthers), state.most]).toEqual([16, 48, 64]);
  expect((await ask(1)).status).toBe(200);
});

test('who sends a thousand requests at once piles nothing up, and who hangs up leaves its place', async () => {
  const { app, state, answer } = startFinding();
  const server = await startServer(app, { host: '127.0.0.1', port: 0 }, undefined);
  const request = `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${bearer(1)}\r\n\r\n`;
  try {
    const single = connect(server.port, '127.0.0.1');
    single.write(request);
    await vi.waitFor(() => expect(state.now).toBe(1), waits);
    single.destroy();
    await vi.waitFor(() => expect(state.now).toBe(0), waits);

    const many = connect(server.port, '127.0.0.1');
    let answers = '';
    many.on('data', (data) => {
      answers += data.toString();
    });
    many.end(request.repeat(1000));
    await vi.waitFor(() => expect(state.now).toBe(16), waits);
    answer();
    await once(many, 'close');
    expect(answers.split('HTTP/1.1 ')).toHaveLength(1001);
    expect(answers).toContain('HTTP/1.1 503');
    expect(state.most).toBe(16);
  } finally {
    await server.close();
  }
});

/** Chunks that fit into no socket's buffer, for askers that read nothing but the first line of the answer. */
async function serveUnread(stallMs: number) {
  const chunk = Buffer.alloc(8 * 1024 * 1024);
  const offer = { group: () => group, publicKey: () => publicKey, done: () => 9, meet: () => undefined };
  const app = serveChunks(() => ({ ...offer, find: () => Promise.resolve(chunk) }), systemClock, stallMs);
  const server = await startServer(app, { host: '127.0.0.1', port: 0 }, undefined);
  const sockets = new Set<ReturnType<typeof connect>>();
  return {
    ask: async (): Promise<string> => {
      const socket = connect(server.port, '127.0.0.1');
      sockets.add(socket);
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${bearer(1)}\r\n\r\n`);
      await once(socket, 'readable');
      return (socket.read(12) as Buffer).toString();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await server.close();
    },
  };
}

test('chunks that are not read are as few as those that are looked for', async () => {
  await using served = await serveUnread(3_600_000);
  const answers = await Promise.all(Array.from({ length: 24 }, served.ask));
  expect(answers.filter((answer) => answer === 'HTTP/1.1 200')).toHaveLength(16);
  expect(await served.ask()).toBe('HTTP/1.1 503');
});

test('who does not read for long is cut off, and leaves its places', async () => {
  await using served = await serveUnread(200);
  for (let number = 0; number < 16; number += 1) await served.ask();
  await vi.waitFor(async () => expect(await served.ask()).toBe('HTTP/1.1 200'), waits);
});
