import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { httpGet } from '#agent/image/fetch/http-body.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';
import { parseOutboundAllowList } from '#shared/peers/outbound-url.ts';
import * as fc from '#test/fuzz/fast-check.ts';
import { fuzzRuns } from '#test/fuzz/fuzz-runs.ts';
import { mutantsOf } from '#test/fuzz/mutants.ts';

/** Answers that are not HTTP, or hardly: both readers come to an end, with the answer or with an error that is meant. */

const samples = [
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"a": [1]}\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n6;x=y\r\n [{}]}\r\n0\r\nA: b\r\n\r\n',
  'HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-4/10\r\nContent-Length: 5\r\nConnection: close\r\n\r\n12345',
  'HTTP/1.0 401 No\r\nWWW-Authenticate: Basic\r\n\r\n{"error": {"message": "no"}}',
].map((text) => Buffer.from(text));

/** Milliseconds after which a server that says nothing is given up; far below the limit of one case. */
const idleTimeoutMs = 500;
const patienceMs = 240_000;
const rules = {
  setting: 'BATON_IMAGE_URL_ALLOW',
  allow: parseOutboundAllowList('127.0.0.0/8'),
  allowLoopback: true,
  connectsHere: true,
};

let server: Server;
let url: URL;
let answer: Buffer = Buffer.alloc(0);
beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/file`);
});
afterAll(() => server.close());

async function readImage(): Promise<void> {
  const answering = await httpGet(url, {}, { idleTimeoutMs, signal: AbortSignal.timeout(patienceMs), rules });
  try {
    const into = Buffer.alloc(4);
    while ((await answering.read(into)).state === 'more');
  } finally {
    answering.close();
  }
}

const askAgent = () => askPeer('agentCommands', url, { method: 'GET', who: 'the agent', timeoutMs: idleTimeoutMs });

/** Recognizes errors of Baton, or of undici, whose callers make their own of it. */
function isMeant(error: unknown): boolean {
  if (error instanceof AppError) return error.code !== 'internal';
  const { code = '', name } = error as { readonly code?: unknown; readonly name?: unknown };
  return (
    name === 'TimeoutError' ||
    name === 'HTTPParserError' ||
    (typeof code === 'string' && /^(UND_ERR_|HPE_|ECONN|EPIPE)/.test(code))
  );
}

test.each([
  ["the agent's reader of images", readImage],
  ["the conductor's reader of peers", askAgent],
])('%s', async (_, read) => {
  const property = fc.asyncProperty(mutantsOf(samples), async (bytes) => {
    answer = bytes;
    const since = performance.now();
    await Promise.resolve(read()).catch((error: unknown) => {
      if (!isMeant(error)) throw error;
    });
    expect(performance.now() - since).toBeLessThan(patienceMs);
  });
  await fc.assert(property, fuzzRuns(300));
});
