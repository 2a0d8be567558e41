import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fault } from '#conductor/api/service.ts';
import { createApp } from '#conductor/http/app.ts';
import { answerCheck } from '#test/support/check-answer.ts';
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

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly content?: object }>>;
}

test('every success answer has a schema, unless it has no body', () => {
  const successes = Object.entries(pathsOf()).flatMap(([path, methods]) =>
    Object.entries(methods as unknown as Record<string, Operation>).flatMap(([method, { responses }]) =>
      Object.entries(responses)
        .filter(([status]) => /^20\d$/.test(status))
        .map(([status, { content }]) => ({ name: `${method.toUpperCase()} ${path} ${status}`, content })),
    ),
  );
  expect(successes.length).toBeGreaterThan(190);
  const bare = successes.filter(({ content }) => content === undefined).map(({ name }) => name);
  // that these have no body is checked wherever tests call them
  expect(bare.filter((name) => !/ 20[24]$/.test(name))).toEqual([]);
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

test('every operation has an id of its own', () => {
  const ids = Object.values(pathsOf()).flatMap((methods) =>
    Object.values(methods as unknown as Record<string, Operation>).map(({ operationId }) => operationId),
  );
  expect(ids.filter((id) => !/^[a-z]+([A-Z]\w*)?$/.test(id))).toEqual([]);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  expect(ids).toEqual(
    expect.arrayContaining([
      'listNodes',
      'showNode',
      'createNode',
      'updateNode',
      'deleteNode',
      'setNodeProvisionState',
    ]),
  );
});

test('what is answered is what it says', async () => {
  const node = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1', resource_class: 'x' });
  const bodies = { node_uuid: node.uuid };
  const port = await api.call('POST', '/v1/ports', { ...bodies, address: '52:54:00:00:00:01' });
  const portgroup = await api.call('POST', '/v1/portgroups', { ...bodies, name: 'bond0' });
  const chassis = await api.call('POST', '/v1/chassis', { description: 'rack 1' });
  await api.call('POST', '/v1/allocations', { name: 'a1', resource_class: 'x' });
  await api.call('PUT', '/v1/nodes/n1/states/provision', { target: 'manage' });
  // each answer is held against its schema by the test API
  for (const path of [
    '/v1/nodes/n1',
    '/v1/nodes/n1?fields=uuid,links',
    '/v1/nodes/n1/states',
    '/v1/nodes/n1/flow',
    `/v1/ports/${port.uuid}`,
    `/v1/portgroups/${portgroup.uuid}`,
    `/v1/chassis/${chassis.uuid}`,
    '/v1/allocations/a1',
  ]) {
    expect([path, (await api.call('GET', path)).status]).toEqual([path, 200]);
  }
  for (const path of ['/v1/nodes/nope', '/v1/nope']) {
    expect(Fault.safeParse((await api.call('GET', path)).body).error?.issues).toBeUndefined();
  }
  for (const key of ['nodes', 'ports', 'portgroups', 'chassis', 'allocations'] as const) {
    expect((await api.call('GET', `/v1/${key}`)).body[key]).not.toEqual([]);
  }
  await expect(
    answerCheck(createApp(api.context))('GET', 'http://api/v1/shards', Response.json({ n: 1 })),
  ).rejects.toThrow('GET /v1/shards: 200 is not what its schema says');
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
