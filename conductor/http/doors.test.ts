import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createApp, createBootApp } from '#conductor/http/app.ts';
import { bodyLimitsKey, routesOf } from '#conductor/http/routing/define-routes.ts';
import { type ApiDocument, doorsOf } from '#test/support/door-bodies.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/**
 * The cost of a request is bounded at every door: its depth, the number of its values, and the answer to what is
 * refused.
 */

let api: TestApi;
let document: ApiDocument;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_DISCOVERY: 'true', BATON_PUBLIC_FAILURES_PER_SECOND: '10000' } });
  document = (await api.call('GET', '/openapi.json', undefined, '')).body as unknown as ApiDocument;
});
afterAll(() => api.close());

test('every route with a body names its row of limits, and no other', () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, ...operation })),
  );
  const wrong = operations.filter(
    ({ requestBody, ...each }) => (requestBody === undefined) !== (each[bodyLimitsKey] === undefined),
  );
  expect(wrong.map(({ name }) => name)).toEqual([]);
  expect(operations.filter((each) => each[bodyLimitsKey] !== undefined).length).toBeGreaterThan(40);
  // @ts-expect-error -- a body without limits
  routesOf('none').post('/v1/none', 'Do nothing', {}, { body: z.strictObject({}) });
});

test('a port for what boots reads no bodies', () => {
  expect(new Set(createBootApp(api.context).routes.map(({ method }) => method))).toEqual(new Set(['GET', 'ALL']));
});

test('the walk of all doors fills each list and open object of a body, as far as its row goes', () => {
  const doors = doorsOf(document);
  const bodiesOf = (method: string, path: string) =>
    doors.find((door) => door.method === method && door.path === path)?.bodies ?? {};
  const provision = bodiesOf('PUT', '/v1/nodes/n1/states/provision');
  const steps = provision['as many members of body.clean_steps that are empty objects']?.() ?? '';
  const { target, clean_steps: listed } = JSON.parse(steps) as Record<string, unknown>;
  expect([target, Array.isArray(listed) && listed.length]).toEqual([expect.any(String), 9_950]);
  const node = bodiesOf('POST', '/v1/nodes')['as many members of body.extra that are numbers']?.() ?? '';
  expect(Object.keys((JSON.parse(node) as { extra: object }).extra)).toHaveLength(9_950);
  const filled = doors.filter(({ bodies }) => Object.keys(bodies).some((name) => name.startsWith('as many members')));
  expect(filled.length).toBeGreaterThan(20);
});

const headers = { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.96' };

test('every operation refuses in a few words what is above its row, and says which limit it is', {
  timeout: 600_000,
}, async () => {
  const doors = doorsOf(document);
  expect(doors.length).toBeGreaterThan(90);
  const app = createApp(api.context);
  for (const { method, path, tooMuch } of doors) {
    for (const [what, { body, refusal }] of Object.entries(tooMuch)) {
      // larger ones are sent by the walk of all doors
      if (what === 'many more values') continue;
      const text = body();
      if (text.length > 1_200_000) continue;
      const answer = await app.request(`http://api.example${path}`, { method, body: text, headers });
      const said = await answer.text();
      expect([method, path, what, answer.status, said.length < 2_000, said.slice(0, 500)]).toEqual([
        method,
        path,
        what,
        what === 'more bytes' ? 413 : 400,
        true,
        expect.stringContaining(refusal),
      ]);
    }
  }
});

test.each([
  ['PATCH', '/v1/deploy_templates/n1', '', ''],
  ['PATCH', '/v1/nodes/n1', '', ''],
  ['PUT', '/v1/nodes/n1/states/provision', '{"target":"clean","clean_steps":', '}'],
  ['PUT', '/v1/nodes/n1/states/provision', '{"target":"active","deploy_steps":', '}'],
  ['POST', '/v1/deploy_templates', '{"name":"CUSTOM_A","steps":', '}'],
  ['POST', '/v1/runbooks', '{"name":"CUSTOM_A","steps":', '}'],
  ['POST', '/v1/inspection_rules', '{"actions":[],"conditions":', '}'],
  ['POST', '/v1/inspection_rules', '{"actions":', '}'],
])('%s %s refuses a list by its length, whatever its members: %s', async (method, path, head, tail) => {
  const body = `${head}[${'{},'.repeat(9_000)}{}]${tail}`;
  const answer = await api.request(path, { method, body, headers });
  expect([answer.status, await answer.text()]).toEqual([
    400,
    expect.stringContaining('has 9001 members, and may have at most 500'),
  ]);
});

test.each([
  ['{"inventory":{"interfaces":[', '1', 1_000_000, 'the body has more than 60000 values'],
  ['{"inventory":{"interfaces":[', '1', 59_000, 'Invalid inspection data: inventory.interfaces.0: '],
  ['{"inventory":{"interfaces":', '[', 100_000, 'the body has JSON deeper than 32'],
])('a report of a stranger: %s%s × %i', async (head, item, count, expected) => {
  const body = item === '[' ? head + item.repeat(count) : `${head}${`${item},`.repeat(count)}1]}}`;
  const answer = await api.request('/v1/continue_inspection', { method: 'POST', body, headers });
  const text = await answer.text();
  expect({ status: answer.status, text, isShort: text.length < 40_000 }).toMatchObject({
    status: 400,
    text: expect.stringContaining(expected) as unknown,
    isShort: true,
  });
});

test.each(['application/yaml+json', 'application/JSON', 'text/yaml', 'text/plain'])(
  'what a caller calls its body changes no limit: %s',
  async (type) => {
    const ask = async (path: string, body: string): Promise<string> => {
      const headers = { 'Content-Type': type, 'X-OpenStack-Ironic-API-Version': '1.96' };
      return (await api.request(path, { method: 'POST', body, headers })).text();
    };
    const many = `[${'1,'.repeat(70_000)}1]`;
    for (const path of ['/v1/continue_inspection', '/v1/ports', '/v1/heartbeat/n1', '/v1/allocations']) {
      expect([path, await ask(path, '['.repeat(1_000))]).toEqual([path, expect.stringContaining('JSON deeper than')]);
      expect([path, await ask(path, many)]).toEqual([path, expect.stringContaining('the body has more than')]);
    }
    expect(await ask('/v1/chassis', '{"description":"a\\u0000b"}')).toMatch(/U\+0000|send it as application\/json/);
  },
);

test('a whole number that no column holds is refused by its field', async () => {
  const step = { interface: 'raid', step: 'create_configuration', args: {} };
  for (const place of [2_147_483_648, Number.MAX_SAFE_INTEGER, '2147483648']) {
    const template = { name: 'CUSTOM_A', steps: [{ ...step, priority: place }] };
    const runbook = { name: 'CUSTOM_A', steps: [{ ...step, order: place }] };
    expect(await api.call('POST', '/v1/deploy_templates', template)).toMatchObject({
      status: 400,
      fault: expect.stringContaining('steps.0.priority: must be an integer from 0 to 2147483647') as unknown,
    });
    expect(await api.call('POST', '/v1/runbooks', runbook)).toMatchObject({
      status: 400,
      fault: expect.stringContaining('steps.0.order: must be an integer from 0 to 2147483647') as unknown,
    });
  }
});
