import { request } from 'node:http';
import { Hono } from 'hono';
import { expect, onTestFinished, test } from 'vitest';
import { copyRequest, partsOf } from '#conductor/http/doors/body-parts.ts';
import { listen } from '#conductor/http/listen.ts';

/** Serves an app that answers with what `read` says of a request's body. */
async function serve(read: (c: Parameters<typeof partsOf>[0]) => Promise<unknown>): Promise<string> {
  const app = new Hono();
  app.post('/', async (c) => c.json((await read(c)) as object));
  const server = await listen(app.fetch, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  return server.url;
}

const text = 'body of some length '.repeat(50_000);
const post = async (url: string): Promise<unknown> => (await fetch(url, { method: 'POST', body: text })).json();

async function readAll(c: Parameters<typeof partsOf>[0]): Promise<{ readonly text: string; readonly left: number }> {
  const parts = partsOf(c);
  const taken: Uint8Array[] = [];
  for (let part = await parts.next(); part; part = await parts.next()) taken.push(part);
  const whole = Buffer.alloc(text.length);
  let at = 0;
  for (const part of taken) {
    const { length } = part;
    parts.move(part, whole, at);
    at += length;
  }
  parts.end();
  return { text: whole.toString(), left: taken.reduce((sum, part) => sum + part.length, 0) };
}

test('parts that came on a connection are let go when they have been moved', async () => {
  expect(await post(await serve(readAll))).toEqual({ text, left: 0 });
});

test('those of a request that is read twice stay for its other reader', async () => {
  const url = await serve(async (c) => {
    const again = copyRequest(c);
    const { text: first } = await readAll(c);
    return { first, second: await again.text() };
  });
  expect(await post(url)).toEqual({ first: text, second: text });
});

test('a body that is not read to its end leaves the connection for the answer', async () => {
  const url = await serve(async (c) => {
    const parts = partsOf(c);
    const part = await parts.next();
    parts.end();
    return { length: part?.length };
  });
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { 'Transfer-Encoding': 'chunked' } });
    sent.on('error', reject);
    sent.on('response', (response) => response.on('data', (chunk: Buffer) => resolve(chunk.toString())));
    // without an end
    sent.write('first part');
    onTestFinished(() => void sent.destroy());
  });
  expect(JSON.parse(answer)).toEqual({ length: 10 });
});
