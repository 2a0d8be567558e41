import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { KeptConnections } from '#agent/image/fetch/connection.ts';
import { fetchSmall } from '#agent/image/fetch/fetch-small.ts';
import { httpGet } from '#agent/image/fetch/http-body.ts';
import { errorChain, isRetryable } from '#shared/errors/app-error.ts';
import { type OutboundRules, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';

const signal = new AbortController().signal;
const options = { idleTimeoutMs: 60_000, signal };
const open: { servers: Server[]; sockets: Socket[] } = { servers: [], sockets: [] };

afterEach(() => {
  for (const socket of open.sockets) socket.destroy();
  for (const server of open.servers) server.close();
  Object.assign(open, { servers: [], sockets: [] });
});

/** Answers each request with the same bytes, whatever they are; `asked` counts. */
async function serve(answer: string | ((socket: Socket) => void), host = '127.0.0.1') {
  const state = { asked: 0 };
  const server = createServer((socket) => {
    open.sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      state.asked += 1;
      if (typeof answer === 'string') socket.end(answer);
      else answer(socket);
    });
  });
  open.servers.push(server);
  server.listen(0, host);
  await once(server, 'listening');
  return { url: `http://${host}:${(server.address() as AddressInfo).port}/file`, asked: () => state.asked };
}

async function readBody(url: string): Promise<string> {
  const answer = await httpGet(new URL(url), {}, options);
  try {
    const into = Buffer.alloc(1000);
    const { bytes, state } = await answer.read(into);
    return `${state}: ${into.toString('utf8', 0, bytes)}`;
  } finally {
    answer.close();
  }
}

describe('framing', () => {
  test.each([
    ['Content-Length: -5\r\n\r\nabc', 'a Content-Length that is not a length'],
    ['Content-Length: 1e3\r\n\r\nabc', 'a Content-Length that is not a length'],
    ['Content-Length: 9999999999999999999\r\n\r\nabc', 'a Content-Length that is not a length'],
    ['Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde', 'two Content-Lengths'],
    ['Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n', 'a chunk without a size'],
    ['Transfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n0\r\n\r\n', 'a chunk without a size'],
    ['Transfer-Encoding: chunked\r\n\r\nfffffffffffff\r\nabc', 'a chunk without a size'],
    ['Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n', 'a chunk longer than its size'],
    [`${'a: b\r\n'.repeat(300)}\r\n`, 'endless headers'],
    [`a: ${'b'.repeat(15_000)}\r\n`.repeat(10), 'endless headers'],
  ])('%j is refused at once, and not tried again', async (answer, refusal) => {
    const { url } = await serve(`HTTP/1.1 200 OK\r\n${answer}`);
    const error: unknown = await readBody(url).catch((cause: unknown) => cause);
    expect(errorChain(error)).toBe(`the server sent ${refusal}`);
    expect(isRetryable(error)).toBe(false);
  });

  test('what real servers send is read', async () => {
    const read = async (answer: string) => readBody((await serve(`HTTP/1.1 200 OK\r\n${answer}`)).url);
    expect(await read('Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc')).toBe('complete: abc');
    expect(await read('Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n')).toBe('complete: abc');
    expect(await read('Transfer-Encoding: chunked\r\n\r\n0003 \r\nabc\r\n')).toBe('cut: abc');
  });

  test('headers that never end are given up when the signal says so', async () => {
    const { url } = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\na: b\r\n'));
    await expect(httpGet(new URL(url), {}, { ...options, signal: AbortSignal.timeout(100) })).rejects.toThrow(
      'given up',
    );
  });
});

describe('kept connections', () => {
  const file = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc';
  /** Answers the requests of all connections in turn, each connection until `closeAfter` of them. */
  async function serveMany(answers: readonly string[], closeAfter = 100) {
    const seen = { connections: 0, requests: 0 };
    const { url } = await serve((socket) => {
      seen.connections += 1;
      let here = 0;
      const answer = (): void => {
        if (here === closeAfter) return;
        here += 1;
        seen.requests += 1;
        socket.write(answers[Math.min(seen.requests, answers.length) - 1] ?? '');
        if (here === closeAfter) socket.end();
      };
      socket.on('data', answer);
      answer();
    });
    return { url, seen };
  }
  const kept: KeptConnections = new Map();
  const get = (url: string): Promise<string> => fetchSmall(url, 'the file', 1000, { signal, kept }).then(String);
  afterEach(() => {
    for (const connection of [...kept.values()].flat()) connection.close();
    kept.clear();
  });

  test('one request after another goes over the same', async () => {
    const { url, seen } = await serveMany([file]);
    for (let request = 0; request < 5; request += 1) expect(await get(url)).toBe('abc');
    expect(seen).toEqual({ connections: 1, requests: 5 });
  });

  test('one that the server has closed is replaced', async () => {
    const { url, seen } = await serveMany([file], 2);
    for (let request = 0; request < 6; request += 1) expect(await get(url)).toBe('abc');
    expect(seen).toEqual({ connections: 3, requests: 6 });
  });

  test.each([
    ['a body without a length', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'],
    ['Connection: close', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc'],
    ['more than was asked for', `${file}${file}`],
  ])('%s ends it', async (_what, answer) => {
    const { url, seen } = await serveMany([answer]);
    expect(await get(url)).toBe('abc');
    expect(await get(url)).toBe('abc');
    expect(seen).toEqual({ connections: 2, requests: 2 });
  });

  test('a signal of an earlier request does not end it, the present one does', async () => {
    const { url, seen } = await serveMany([file, file, '']);
    const first = new AbortController();
    expect(String(await fetchSmall(url, 'the file', 1000, { signal: first.signal, kept }))).toBe('abc');
    first.abort();
    expect(await get(url)).toBe('abc');
    const third = new AbortController();
    const asked = fetchSmall(url, 'the file', 1000, { signal: third.signal, kept });
    third.abort();
    await expect(asked).rejects.toThrow('fetch the file');
    expect(seen.connections).toBe(1);
  });
});

describe('where files may come from', () => {
  const rules = (allow: string | undefined, allowLoopback = true): OutboundRules => ({
    setting: 'BATON_IMAGE_URL_ALLOW',
    allow: allow === undefined ? undefined : parseOutboundAllowList(allow),
    allowLoopback,
    connectsHere: true,
  });
  const file = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret';
  const get = async (url: string, given: OutboundRules): Promise<string> =>
    fetchSmall(url, 'the file', 1000, { signal, rules: given }).then(String, errorChain);

  test('a redirect is held against the rules, before anything is sent there', async () => {
    const inside = await serve(file, '127.0.0.2');
    const server = await serve(`HTTP/1.1 302 Found\r\nLocation: ${inside.url}\r\nContent-Length: 0\r\n\r\n`);
    expect(await get(server.url, rules('127.0.0.1'))).toMatch(
      /the redirect of .*BATON_IMAGE_URL_ALLOW does not allow 127\.0\.0\.2/,
    );
    expect(inside.asked()).toBe(0);
    expect(await get(server.url, rules('127.0.0.0/8'))).toBe('secret');
  });

  test('a redirect to metadata is refused without a list as well', async () => {
    const server = await serve('HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\n\r\n');
    expect(await get(server.url, rules(undefined))).toMatch(/loopback, link-local and metadata addresses/);
  });

  test('a name is judged by the address that it leads to', async () => {
    const server = await serve(file);
    // the resolver knows the machine's own name, which the check of the URL does not
    const named = server.url.replace('127.0.0.1', 'localhost');
    expect(await get(named, rules(undefined, false))).toMatch(/loopback, link-local and metadata/);
    expect(await get(named, rules('10.0.0.0/8'))).toMatch(/does not allow its address/);
    expect(server.asked()).toBe(0);
    expect(await get(named, rules('127.0.0.0/8,::1'))).toBe('secret');
  });

  test('a file larger than announced, or than the limit, is refused', async () => {
    const long = await serve(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1001)}`);
    expect(await get(long.url, rules(undefined))).toMatch(/larger than 1000 bytes/);
    const reported = await serve('HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n');
    expect(await get(reported.url, rules(undefined))).toMatch(/larger than 1000 bytes/);
    const whole = await serve(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(1000)}`);
    expect((await get(whole.url, rules(undefined))).length).toBe(1000);
  });
});
