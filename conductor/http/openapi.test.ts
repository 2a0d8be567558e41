import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Fault } from '#conductor/api/service.ts';
import { createApp } from '#conductor/http/app.ts';
import { bodyLimitsKey } from '#conductor/http/routing/define-routes.ts';
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

interface Bounded {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly unknown[];
  readonly items?: Bounded;
  readonly additionalProperties?: Bounded | boolean;
  readonly properties?: Readonly<Record<string, Bounded>>;
  readonly anyOf?: readonly Bounded[];
  readonly allOf?: readonly Bounded[];
  readonly oneOf?: readonly Bounded[];
}

interface Parameter {
  readonly name: string;
  readonly schema: Bounded;
}

interface Asked {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Bounded }>> };
  readonly [bodyLimitsKey]?: { readonly bytes: number; readonly values: number };
}

/** Follows a reference; everything else stays. */
function resolved<T extends object>(given: T & { readonly $ref?: string }): T {
  if (given.$ref === undefined) return given;
  const parts = given.$ref.split('/').slice(1);
  return parts.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document) as T;
}

/** All schemas of numbers in it, with their places. */
function numbersIn(given: Bounded, place: string): (readonly [string, Bounded])[] {
  const schema = resolved(given);
  const { items, additionalProperties, properties = {}, anyOf = [], allOf = [], oneOf = [] } = schema;
  const inner: (readonly [string, Bounded])[] = [
    ...Object.entries(properties).map(([name, each]) => [`${place}.${name}`, each] as const),
    ...[...anyOf, ...allOf, ...oneOf].map((each) => [place, each] as const),
    ...[items, additionalProperties].flatMap((each) =>
      typeof each === 'object' ? [[`${place}[]`, each] as const] : [],
    ),
  ];
  const isNumber = [schema.type].flat().some((type) => type === 'integer' || type === 'number');
  return [...(isNumber ? [[place, schema] as const] : []), ...inner.flatMap(([at, each]) => numbersIn(each, at))];
}

/**
 * A number beyond its column is an error of the database, and not the caller's. Texts and lists end with the body that
 * they stand in: its row of limits has bytes and values.
 */
test('every number that a request gives has a least and a greatest, every other value the end of its body', () => {
  const asked = Object.entries(pathsOf()).flatMap(([path, methods]) =>
    Object.entries(methods as unknown as Record<string, Asked>).map(
      ([method, each]) => [`${method} ${path}`, each] as const,
    ),
  );
  const numbers = asked.flatMap(([name, { parameters = [], requestBody }]) => [
    ...parameters.map(resolved).flatMap((each) => numbersIn(each.schema, `${name} ${each.name}`)),
    ...Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => numbersIn(schema, name)),
  ]);
  expect(numbers.length).toBeGreaterThan(30);
  const unbounded = numbers.filter(
    ([, { minimum, exclusiveMinimum = minimum, maximum }]) => exclusiveMinimum === undefined || maximum === undefined,
  );
  expect(unbounded.map(([place]) => place)).toEqual([]);
  // of bytes, and of a table's rows in order
  const large = numbers.filter(([, { maximum = 0 }]) => maximum > 2 ** 31 - 1).map(([place]) => place);
  expect(large.filter((place) => !/^post \/v1\/progress|webhooks.* marker$/.test(place))).toEqual([]);
  const endless = asked.filter(([, { requestBody, ...each }]) => {
    const { bytes = Infinity, values = Infinity } = each[bodyLimitsKey] ?? {};
    return requestBody !== undefined && !(bytes <= 64 * 1024 ** 2 && values <= 60_000);
  });
  expect(endless.map(([name]) => name)).toEqual([]);
});
