import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { httpGet } from '#agent/image/fetch/http-body.ts';
import { createServerCertificate } from '#agent/tls.ts';
import { noise } from '#test/support/noise.ts';

const mib = 1024 * 1024;
const options = { idleTimeoutMs: 240_000, signal: new AbortController().signal };

/** Bytes in which every piece differs from every other. */
const raw = noise('body', 16 * mib);

/** Reads slowly: between two slots the server's bytes pile up. */
async function readSlowly(url: URL): Promise<Buffer> {
  const answer = await httpGet(url, {}, options);
  const parts: Buffer[] = [];
  for (;;) {
    const slot = Buffer.alloc(mib);
    const { bytes, state } = await answer.read(slot);
    parts.push(slot.subarray(0, bytes));
    if (state !== 'more') break;
    await sleep(15);
  }
  answer.close();
  return Buffer.concat(parts);
}

describe('https', () => {
  const trusted = getCACertificates('default');
  const state = { worker: undefined as Worker | undefined, port: 0 };

  beforeAll(async () => {
    const { keyPem, certificatePem } = createServerCertificate({
      address: '127.0.0.1',
      hostName: 'images',
      curve: 'p256',
    });
    setDefaultCACertificates([...trusted, certificatePem]);
    // on a thread of its own, so that it sends while the reader is busy
    state.worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       const server = require('node:https').createServer({ key: workerData.key, cert: workerData.cert }, (request, response) => {
         const body = request.url === '/raw' ? workerData.raw : workerData.gzip;
         response.writeHead(200, { 'content-length': body.length }).end(body);
       });
       server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
      { eval: true, workerData: { key: keyPem, cert: certificatePem, raw, gzip: gzipSync(raw) } },
    );
    [state.port] = (await once(state.worker, 'message')) as [number];
  });
  afterAll(async () => {
    setDefaultCACertificates(trusted);
    await state.worker?.terminate();
  });

  test('a slow reader gets every byte of a raw body, and of a compressed one', async () => {
    const base = `https://127.0.0.1:${state.port}`;
    expect((await readSlowly(new URL('/raw', base))).equals(raw)).toBe(true);
    expect(gunzipSync(await readSlowly(new URL('/gzip', base))).equals(raw)).toBe(true);
  });
});

describe('http', () => {
  async function withServer(
    body: (write: (part: Buffer) => Promise<boolean>) => Promise<void>,
    use: (url: URL) => Promise<void>,
  ) {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-length': raw.length });
      const write = (part: Buffer) =>
        new Promise<boolean>((resolve) => response.write(part, (error) => resolve(!error)));
      void body(write).then(() => response.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      await use(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  test('a slow reader gets every byte', () =>
    withServer(
      async (write) => void (await write(raw)),
      async (url) => {
        expect((await readSlowly(url)).equals(raw)).toBe(true);
      },
    ));

  test('a server that only trickles counts as a broken connection', () =>
    withServer(
      async (write) => {
        for (let at = 0; await write(raw.subarray(at, at + 1)); at += 1) await sleep(10);
      },
      async (url) => {
        const answer = await httpGet(url, {}, { ...options, rateWindowMs: 100 });
        const read = async () => {
          for (;;) if ((await answer.read(new Uint8Array(8))).state !== 'more') return 'cut';
        };
        expect(await read().catch((error: unknown) => error)).toSatisfy(
          (end) => end === 'cut' || (end as { code: string }).code === 'unavailable',
        );
      },
    ));
});
