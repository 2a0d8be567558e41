import { afterAll, beforeAll, expect, test } from 'vitest';
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
