import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnswerName, answerSchemas, answersByOperation } from '#conductor/http/answer-schemas.ts';
import { createApp } from '#conductor/http/app.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let document: Record<string, unknown>;
beforeAll(async () => {
  api = await openTestApi();
  document = (await api.call('GET', '/openapi.json', undefined, '')).body;
});
afterAll(() => api.close());

const pathsOf = () => document['paths'] as Record<string, Record<string, { responses: Record<string, unknown> }>>;
const operations = () =>
  Object.entries(pathsOf()).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );

test('the document is the one that is committed; when it is out of date: npm run docs', async () => {
  await expect(`${JSON.stringify(document, null, 1)}\n`).toMatchFileSnapshot('./openapi.json');
});

test('it is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

test('every route of the app is in it', () => {
  const routes = createApp(api.context)
    .routes.filter(({ method }) => method !== 'ALL')
    .map(
      ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}').replace('/images/*', '/images/{path}')}`,
    );
  expect(routes.length).toBeGreaterThan(100);
  expect([...new Set(routes)].filter((route) => !operations().includes(route))).toEqual([]);
});

test('every operation says what it answers, in words or by schema, and what an error looks like', () => {
  const known = operations();
  expect(Object.keys(answersByOperation).filter((operation) => !known.includes(operation))).toEqual([]);
  for (const methods of Object.values(pathsOf())) {
    for (const { responses } of Object.values(methods)) expect(Object.keys(responses)[0]).toMatch(/^20\d$/);
  }
  expect(document).toMatchObject({
    components: { securitySchemes: { basic: {}, bearer: {} }, schemas: { Fault: {}, Node: {}, Flow: {}, Plan: {} } },
    paths: {
      '/v1/nodes': { get: { responses: { 200: { content: {} }, default: { $ref: '#/components/responses/Fault' } } } },
      '/v1/lookup': { get: { security: [] } },
    },
  });
});

test('what is answered is what it says', async () => {
  const node = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1', resource_class: 'x' });
  const bodies = { node_uuid: node.uuid };
  const port = await api.call('POST', '/v1/ports', { ...bodies, address: '52:54:00:00:00:01' });
  const portgroup = await api.call('POST', '/v1/portgroups', { ...bodies, name: 'bond0' });
  const chassis = await api.call('POST', '/v1/chassis', { description: 'rack 1' });
  await api.call('POST', '/v1/allocations', { name: 'a1', resource_class: 'x' });
  await api.call('PUT', '/v1/nodes/n1/states/provision', { target: 'manage' });
  const seen: readonly (readonly [AnswerName, string])[] = [
    ['Node', '/v1/nodes/n1'],
    ['Node', '/v1/nodes/n1?fields=uuid,links'],
    ['States', '/v1/nodes/n1/states'],
    ['Flow', '/v1/nodes/n1/flow'],
    ['Port', `/v1/ports/${port.uuid}`],
    ['Portgroup', `/v1/portgroups/${portgroup.uuid}`],
    ['Chassis', `/v1/chassis/${chassis.uuid}`],
    ['Allocation', '/v1/allocations/a1'],
    ['Fault', '/v1/nodes/nope'],
    ['Fault', '/v1/nope'],
  ];
  for (const [name, path] of seen) {
    const { body } = await api.call('GET', path);
    expect([path, answerSchemas[name].safeParse(body).error?.issues]).toEqual([path, undefined]);
  }
  for (const key of ['nodes', 'ports', 'portgroups', 'chassis', 'allocations'] as const) {
    const answer = answersByOperation[`GET /v1/${key}`];
    const rows = (await api.call('GET', `/v1/${key}`)).body[key] as unknown[];
    expect(rows.length).toBeGreaterThan(0);
    const schema = answerSchemas[typeof answer === 'object' ? answer.of : 'Fault'];
    for (const row of rows) expect(schema.safeParse(row).error?.issues).toBeUndefined();
  }
});

test('the page is made of what the conductor serves', async () => {
  const app = createApp(api.context);
  const page = await (await app.request('http://api.example/docs')).text();
  const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
  expect(addresses).toHaveLength(4);
  for (const address of addresses) {
    const answer = await app.request(new URL(address, 'http://api.example/docs'));
    expect([address, answer.status, answer.headers.get('content-type')]).toEqual([
      address,
      200,
      expect.stringMatching(/javascript|css|png/),
    ]);
    expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(100);
  }
  expect((await app.request('http://api.example/docs/package.json')).status).toBe(404);
  const below = await app.request('http://api.example/docs/');
  expect([below.status, below.headers.get('location')]).toEqual([301, '../docs']);
});
