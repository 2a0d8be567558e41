import { Hono } from 'hono';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readCallersBodies, readStrangersBodies } from '#conductor/http/doors/read-body.ts';
import { listen } from '#conductor/http/listen.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import { bodyRows } from '#conductor/http/routing/body-rows.ts';

const row = { ...bodyRows.report, isText: true } as const;

test('strangers’ large bodies are read as far as there is room for them, small ones always', async () => {
  const limit = readStrangersBodies({ bytes: 300_000 });
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const app = new Hono<ApiEnv>();
  app.use('*', (c, next) => limit(c, row, next));
  app.post('/held', async (c) => {
    await held;
    return c.body(null, 202);
  });
  app.post('/quick', (c) => c.body(null, 202));
  const send = async (path: string, bytes: number): Promise<Response> =>
    app.request(path, { method: 'POST', body: 'x'.repeat(bytes), headers: { 'Content-Length': String(bytes) } });
  const first = send('/held', 200_000);
  const refused = await send('/quick', 200_000);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '5']);
  expect((await send('/quick', 60_000)).status).toBe(202);
  letGo();
  expect((await first).status).toBe(202);
  expect((await send('/quick', 200_000)).status).toBe(202);
  expect((await send('/quick', 17_000_000)).status).toBe(413);
  expect((await send('/quick', 400_000)).status).toBe(503);
  // announced and never sent, it takes nobody's room
  expect((await app.request('/quick', { method: 'POST' })).status).toBe(202);
});

test('announced bodies that do not come hold nobody up, and end', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const limit = readStrangersBodies({ bytes: 300_000 });
  const app = new Hono<ApiEnv>();
  app.use('*', (c, next) => limit(c, { ...row, seconds: 0.2 }, next));
  app.post('/', async (c) => c.text(String(c.get('body').length), 202));
  const slow = Array.from({ length: 20 }, async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(6)) });
    const headers = { 'Content-Length': '16777216' };
    return await app.request('/', { method: 'POST', body, headers, duplex: 'half' });
  });
  const headers = { 'Content-Length': '200000' };
  const honest = await app.request('/', { method: 'POST', body: 'x'.repeat(200_000), headers });
  expect([honest.status, await honest.text()]).toEqual([202, '200000']);
  vi.advanceTimersByTime(200);
  for (const answer of await Promise.all(slow)) expect(answer.status).toBe(408);
});

test('one address takes its own share', async () => {
  const limit = readStrangersBodies({ sourceBytes: 150_000 });
  const app = new Hono<ApiEnv>();
  app.use('*', (c, next) => limit(c, row, next));
  app.post('/', (c) => c.body(null, 202));
  const send = (bytes: number) => app.request('/', { method: 'POST', body: 'x'.repeat(bytes) });
  expect([(await send(100_000)).status, (await send(160_000)).status, (await send(100_000)).status]).toEqual([
    202, 503, 202,
  ]);
});

test('callers, too, have room for so much at once, and each a share of it', async () => {
  const limit = readCallersBodies({ bytes: 500_000, sourceBytes: 300_000 });
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const app = new Hono<ApiEnv>();
  app.use('*', async (c, next) => {
    c.set('caller', { user: c.req.header('X-User'), role: 'member', project: undefined });
    return limit(c, row, next);
  });
  app.post('/held', async (c) => {
    await held;
    return c.body(null, 202);
  });
  app.post('/quick', (c) => c.body(null, 202));
  const send = async (path: string, bytes: number, user: string): Promise<Response> =>
    app.request(path, { method: 'POST', body: 'x'.repeat(bytes), headers: { 'X-User': user } });
  const first = send('/held', 200_000, 'ann');
  expect((await send('/quick', 200_000, 'ann')).status).toBe(503);
  expect((await send('/quick', 200_000, 'ben')).status).toBe(202);
  const second = send('/held', 200_000, 'ben');
  expect((await send('/quick', 200_000, 'eve')).status).toBe(503);
  letGo();
  expect([(await first).status, (await second).status]).toEqual([202, 202]);
  expect((await send('/quick', 200_000, 'ann')).status).toBe(202);
});

test('over a real connection', async () => {
  const limit = readStrangersBodies();
  const app = new Hono<ApiEnv>();
  app.use('*', (c, next) => limit(c, bodyRows.report, next));
  app.post('/', async (c) => c.text(String(JSON.stringify(await c.req.json()).length), 202));
  const server = await listen(app.fetch, { host: '127.0.0.1', port: 0 });
  const body = JSON.stringify({ text: 'x'.repeat(1_000_000) });
  const answer = await fetch(`${server.url}/`, { method: 'POST', body });
  expect([answer.status, await answer.text()]).toEqual([202, String(body.length)]);
  await server.close();
});
