import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '#conductor/http/app.ts';
import { newApiApp } from '#conductor/http/routing/define-routes.ts';
import { healthRoutes, shareAnswer } from '#conductor/http/service/service.routes.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('healthz and readyz say what they have checked', async () => {
  expect(await api.call('GET', '/healthz', undefined, '')).toMatchObject({ status: 200, body: { status: 'ok' } });
  expect(await api.call('GET', '/readyz', undefined, '')).toMatchObject({
    status: 200,
    body: { status: 'ok', checks: { database: 'ok', migrations: 'ok', not_stopping: 'ok' } },
  });
});

test('a conductor that stops, or has lost its database, is not ready but lives', async () => {
  const lost = { execute: () => Promise.reject(new Error('connection lost')) } as unknown as TestApi['context']['db'];
  const ask = async (context: TestApi['context'], path: string) => {
    const app = newApiApp();
    healthRoutes(app, context);
    const answer = await app.request(path);
    const { checks, causes } = (await answer.json()) as { checks: unknown; causes?: unknown };
    return [answer.status, checks, ...(causes === undefined ? [] : [causes])];
  };
  const stopping = { ...api.context, stopping: AbortSignal.abort() };
  expect(await ask(stopping, '/readyz')).toEqual([
    503,
    { database: 'ok', migrations: 'ok', not_stopping: 'failed' },
    { not_stopping: 'the conductor is stopping' },
  ]);
  const short = { ...api.context, connections: { trouble: () => 'connections run short' } };
  expect(await ask(short, '/readyz')).toEqual([
    200,
    { database: 'ok', migrations: 'ok', not_stopping: 'ok', connections: 'failed' },
    { connections: 'connections run short' },
  ]);
  const expired = { ...api.context, certificate: { trouble: () => 'it expired' } };
  expect(await ask(expired, '/readyz')).toEqual([
    200,
    { database: 'ok', migrations: 'ok', not_stopping: 'ok', certificate: 'failed' },
    { certificate: 'it expired' },
  ]);
  const away = { ...api.context, db: lost };
  expect(await ask(away, '/readyz')).toEqual([
    503,
    { database: 'failed', migrations: 'ok', not_stopping: 'ok' },
    { database: 'the database does not answer; the log says why' },
  ]);
  expect(await ask(away, '/healthz')).toEqual([200, { process: 'ok' }]);
});

test('who asks for metrics while they are being read gets those, and later ones are read again', async () => {
  const asked: (() => void)[] = [];
  const read = shareAnswer(() => new Promise<number>((resolve) => asked.push(() => resolve(asked.length))));
  const together = Promise.all([read(), read(), read()]);
  asked.at(-1)?.();
  expect(await together).toEqual([1, 1, 1]);
  const later = read();
  asked.at(-1)?.();
  expect(await later).toBe(2);
  const failing = shareAnswer(() => Promise.reject(new Error('lost')));
  await expect(failing()).rejects.toThrow('lost');
  await expect(failing()).rejects.toThrow('lost');
});

test('metrics may be turned off', async () => {
  const config = { ...api.context.config, metrics: 'off' } as const;
  const answer = createApp({ ...api.context, config }).request('/metrics');
  expect((await answer).status).toBe(404);
});
