import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { watchHandshakes } from '#conductor/http/routing/watch-handshakes.ts';
import { run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { makeCertificate } from '#test/support/certificate.ts';

const stopping = new AbortController();
const broken: string[] = [];
let directory: string;
let server: Server;
let ca: string;
let url: string;
let ends = 0;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-handshakes-'));
  const { certFile, keyFile } = await makeCertificate(directory, 'served');
  ca = await readFile(certFile, 'utf8');
  server = createServer({ cert: ca, key: await readFile(keyFile) }, (_request, response) => response.end('heard'));
  watchHandshakes(server, { stopping: stopping.signal, onBroken: (address) => void broken.push(address) });
  server.on('connection', (socket) => socket.once('close', () => (ends += 1)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(async () => {
  await ask({ ca });
  broken.length = 0;
});
afterAll(async () => {
  server.close();
  await rm(directory, { recursive: true, force: true });
});

/** Asks on a connection of its own, and waits until the server has seen its end. */
async function ask(options: { readonly ca?: string; readonly maxVersion?: 'TLSv1.2' }): Promise<string> {
  const dispatcher = new Agent({ connect: options });
  const end = nextEnd();
  try {
    return await (await request(url, { dispatcher })).body.text();
  } finally {
    await dispatcher.close();
    await end();
  }
}
/** Waits for the end of a connection that begins after this call; the watch has heard of the end by then. */
function nextEnd(): () => Promise<true> {
  const before = ends;
  return () => waitUntil('the end of the connection', () => (ends > before ? true : undefined), { everyMs: 5 });
}
const refuse = (options: Parameters<typeof ask>[0] = {}) =>
  expect(ask(options)).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });

test.each([{}, { maxVersion: 'TLSv1.2' }] as const)(
  'a client that does not trust the certificate is reported from its second connection on: %o',
  async (options) => {
    await refuse(options);
    expect(broken).toEqual([]);
    await refuse(options);
    expect(broken).toEqual(['127.0.0.1']);
    await refuse(options);
    expect(broken).toEqual(['127.0.0.1', '127.0.0.1']);
  },
);

test('one that sends an alert, as Python does, is reported as well', async () => {
  const asked = () => run('python3', ['-c', `import urllib.request; urllib.request.urlopen("${url}")`]);
  for (const count of [0, 1]) {
    const end = nextEnd();
    await expect(asked()).rejects.toThrow('CERTIFICATE_VERIFY_FAILED');
    await end();
    expect(broken.length).toBe(count);
  }
});

test('a request in between begins a new row', async () => {
  await refuse();
  expect(await ask({ ca })).toBe('heard');
  await refuse();
  expect(broken).toEqual([]);
});

test('a server that stops, and closes connections by that, reports nobody', async () => {
  await refuse();
  stopping.abort();
  await refuse();
  expect(broken).toEqual([]);
});
