import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessRules } from '#conductor/auth/access-rules.ts';
import { indexRules } from '#conductor/auth/authorize.ts';
import { createApp } from '#conductor/http/app.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

/** Every route of the app, as `GET /v1/nodes/:node`. */
function routesOf(test: TestApi): string[] {
  const routes = createApp(test.context).routes.map(({ method, path }) => `${method} ${path}`);
  return [...new Set(routes)];
}

test('every operation has its rule, and every rule its operation: a row in conductor/auth/access-rules.ts', () => {
  const operations = routesOf(api).filter((route) => !route.startsWith('ALL '));
  const rules = [...indexRules(accessRules).keys()];
  expect(operations.length).toBeGreaterThan(80);
  expect(operations.filter((route) => !rules.includes(route))).toEqual([]);
  expect(rules.filter((rule) => !operations.includes(rule))).toEqual([]);
  expect(rules).toHaveLength(accessRules.length);
});

test('every operation of the OpenAPI document is among them', async () => {
  const { body } = await api.call('GET', '/openapi.json', undefined, '');
  const documented = Object.entries(body['paths'] as Record<string, Record<string, unknown>>).flatMap(
    ([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace('/images/{path}', '/images/*')}`),
  );
  const rules = accessRules.map(({ method, path }) => `${method} ${path}`);
  expect(documented.length).toBeGreaterThan(70);
  expect(documented.filter((operation) => !rules.includes(operation))).toEqual([]);
});

test('routes for all methods, which need no rule, are middleware or refuse what is not built', async () => {
  const paths = routesOf(api)
    .filter((route) => route.startsWith('ALL ') && !route.endsWith('*'))
    .map((route) => route.slice('ALL '.length).replaceAll(/:\w+/g, 'x'));
  for (const path of paths) {
    const { status } = await api.call('PROPFIND', path);
    expect([path, [400, 404, 405].includes(status)]).toEqual([path, true]);
  }
});
