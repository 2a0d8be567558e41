import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { requireKnownHost } from '#conductor/http/doors/admit-strangers.ts';

async function ask(headers: Record<string, string>, allowUnauthenticated = false): Promise<number> {
  const app = new Hono();
  app.onError((error, c) => c.text(error.message, 403));
  app.get('/', (c) => {
    requireKnownHost(c, { publicUrl: 'http://baton.example:6385', auth: { allowUnauthenticated } });
    return c.body(null, 204);
  });
  return (await app.request('/', { headers })).status;
}

test.each([
  [{}, 204],
  [{ Host: '127.0.0.1:6385' }, 204],
  [{ Host: 'localhost:6385' }, 204],
  [{ Host: '[::1]:6385' }, 204],
  [{ Host: 'Baton.example:6385' }, 204],
  [{ Host: 'rebound.example:6385' }, 403],
  [{ Host: '127.0.0.1.example' }, 403],
  [{ Host: '127.0.0.1:6385', 'X-Forwarded-For': '192.0.2.1' }, 403],
  [{ Host: '127.0.0.1:6385', Forwarded: 'for=192.0.2.1' }, 403],
])('without login, %j is answered with %i', async (headers, status) => {
  expect(await ask(headers)).toBe(status);
});

test('who lets everybody in may have a proxy, and no page of another site', async () => {
  expect(await ask({ 'X-Forwarded-For': '192.0.2.1' }, true)).toBe(204);
  expect(await ask({ Host: 'rebound.example' }, true)).toBe(403);
});
