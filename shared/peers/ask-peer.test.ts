import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { askPeer, askPeerForHeaders, askPeerForStatus } from '#shared/peers/ask-peer.ts';
import { eventually } from '#test/support/eventually.ts';

const largeText = 'x'.repeat(2 * 1024 * 1024);
const packers: Readonly<Record<string, (text: Buffer | string) => Buffer>> = {
  deflate: deflateSync,
  'deflate-raw': deflateRawSync,
};
/** Answers `/small` and `/whole`; of `/large` the end is left to the test. */
const open: ServerResponse[] = [];
const server = createServer((request, response) => {
  response.on('error', () => undefined);
  const [, encoding = '', size = ''] = /^\/packed\/([\w-]+)\/(\w+)$/.exec(request.url ?? '') ?? [];
  if (encoding !== '') {
    response.setHeader('content-encoding', encoding.replace(/-raw$/, ''));
    if (size === 'empty') return response.writeHead(404).end();
    const text = size === 'large' ? Buffer.alloc(64 * 1024 * 1024, ' ') : '{"size":"small"}';
    const pack = packers[encoding] ?? gzipSync;
    if (size === 'damaged') return response.end(pack(text).subarray(0, -9));
    if (size !== 'bytes') return response.end(pack(text));
    const [first, ...rest] = pack(text);
    response.write(Buffer.of(first ?? 0), () => setImmediate(() => response.end(Buffer.from(rest))));
    return undefined;
  }
  if (request.url === '/small') return response.end('{"size":"small"}');
  response.write(`{"size":"${largeText}`);
  if (request.url === '/whole') response.end('"}');
  else open.push(response);
  return undefined;
});
let url: string;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const ask = (path: string, timeoutMs = 240_000) =>
  askPeer('agentCommands', `${url}${path}`, { who: 'the agent', method: 'GET', timeoutMs });

test('four large answers are read at a time; small ones go past them, and those that wait give up in their time', async () => {
  const holders = Array.from({ length: 4 }, () => ask('/large'));
  await expect.poll(() => open.length).toBe(4);
  // once each of them has come to its second MiB
  await eventually(() => expect(ask('/whole', 300)).rejects.toThrow(/timeout/i));
  expect((await ask('/small')).body).toEqual({ size: 'small' });
  const waits = ask('/whole');
  for (const response of open) response.end('"}');
  const sizes = (await Promise.all([...holders, waits])).map(({ body }) => (body as { size: string }).size.length);
  expect(sizes).toEqual(Array.from({ length: 5 }, () => largeText.length));
});

test.each([
  ['an answer', () => ask('/small', 123_456)],
  ['a refusal', () => askPeer('bmc', 'http://127.0.0.1:1/', { who: 'the BMC', method: 'GET', timeoutMs: 123_456 })],
  ['a status', () => askPeerForStatus('bmc', `${url}/small`, { who: 'the BMC', method: 'GET', timeoutMs: 123_456 })],
  ['headers', () => askPeerForHeaders('image', `${url}/small`, { who: 'it', method: 'GET', timeoutMs: 123_456 })],
])('%s leaves no timer behind', async (_, act) => {
  const [set, clear] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')];
  try {
    await Promise.allSettled([act()]);
    const begun = set.mock.results.filter((_result, index) => set.mock.calls[index]?.[1] === 123_456);
    expect(begun).toHaveLength(1);
    expect(clear.mock.calls.map(([timer]) => timer)).toContain(begun[0]?.value);
  } finally {
    set.mockRestore();
    clear.mockRestore();
  }
});

test('an answer in an encoding that is not known is refused, and its connection let go', async () => {
  const asked = askPeer('bmc', `${url}/packed/br/large`, { who: 'the BMC', method: 'GET' });
  await expect(asked).rejects.toThrow('the Content-Encoding br, which is not known');
});

describe.each(['gzip', 'x-gzip', 'deflate', 'deflate-raw'])('an answer in %s', (encoding) => {
  const asked = (size: string) =>
    askPeer('bmc', `${url}/packed/${encoding}/${size}`, { who: 'the BMC', method: 'GET' });

  test('is unpacked', async () => {
    expect((await asked('small')).body).toEqual({ size: 'small' });
  });

  test('is unpacked whatever the parts that it comes in', async () => {
    expect((await asked('bytes')).body).toEqual({ size: 'small' });
  });

  test('that has no bytes is empty', async () => {
    const answer = await asked('empty');
    expect([answer.status, answer.body, answer.text()]).toEqual([404, undefined, '']);
  });

  test('that is damaged is an error', async () => {
    await expect(asked('damaged')).rejects.toThrow('unexpected end of file');
  });

  test('that unpacks to a large one meets the limit by what comes out', async () => {
    await expect(asked('large')).rejects.toThrow('the BMC answers with more than 4194304 bytes');
  });
});
