import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { accessRules } from '#conductor/auth/access-rules.ts';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { limitStrangersBodies } from '#conductor/http/limit-body.ts';

const rule = accessRules.find(({ path }) => path === '/v1/continue_inspection');

test('strangers’ large bodies are read as far as there is room for them, small ones always', async () => {
  const limit = limitStrangersBodies(300_000);
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const app = new Hono<ApiEnv>();
  app.use('*', (c, next) => limit(c, rule, next));
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
  expect((await send('/quick', 17_000_000)).status).toBe(503);
  expect((await app.request('/quick', { method: 'POST' })).status).toBe(503);
});
