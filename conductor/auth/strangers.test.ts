import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '#conductor/http/app.ts';
import { type ApiWithCallers, macOfMine, openApiWithCallers } from '#test/support/api-with-callers.ts';
import type { TestApi } from '#test/support/test-api.ts';

/** Callers that have not logged in, or may not even send. */

let api: TestApi;
let as: ApiWithCallers['as'];
let headersOf: ApiWithCallers['headersOf'];
beforeAll(async () => {
  ({ api, as, headersOf } = await openApiWithCallers());
});
afterAll(() => api.close());

test('read documents, and are told how to log in for the rest', async () => {
  for (const path of ['/', '/v1', '/openapi.json', '/healthz']) {
    expect([path, (await api.call('GET', path, undefined, '')).status]).toEqual([path, 200]);
  }
  for (const path of ['/v1/nodes', '/v1/nodes/mine', '/nodes', '/v1/nodes/', '/v1/nothing', '/metrics']) {
    const { status, headers, fault, body } = await api.call('GET', path);
    expect([path, status, fault]).toEqual([path, 401, 'Authorization required']);
    expect(headers.get('WWW-Authenticate')).toMatch(/^Bearer/);
    expect(body['error']).toEqual({ code: 401, message: 'Authorization required' });
  }
});

test.each([
  [{ Authorization: 'Bearer nonsense' }, 401, /token is not known/],
  [{ 'X-Auth-Token': 'nonsense' }, 401, /token is not known/],
  [{ Authorization: `Basic ${btoa('admin:secret')}` }, 401, /Incorrect username or password/],
  [{ Authorization: 'Bearer' }, 400, /Could not parse/],
  [{ Authorization: 'Digest x' }, 400, /Unsupported authorization type/],
] as const)('with %j are refused', async (headers, status, fault) => {
  expect(await api.call('GET', '/v1/nodes', undefined, '1.96', headers)).toMatchObject({
    status,
    fault: expect.stringMatching(fault) as unknown,
  });
});

test('who look machines up by guessing learn nothing, whether or not there is such a node', async () => {
  const known = await api.call('GET', `/v1/lookup?addresses=${macOfMine}`);
  const unknown = await api.call('GET', '/v1/lookup?addresses=52:54:00:00:00:77');
  const { uuid } = await as('admin', 'GET', '/v1/nodes/mine');
  const byUuid = await api.call('GET', `/v1/lookup?node_uuid=${uuid}`);
  expect([known.status, known.body]).toEqual([404, unknown.body]);
  expect([byUuid.status, byUuid.body]).toEqual([404, unknown.body]);
  expect(JSON.stringify(known.body)).not.toContain(uuid);
});

test('are told to wait once they have failed too often, and others go on', async () => {
  const app = createApp({
    ...api.context,
    config: {
      ...api.context.config,
      auth: { ...api.context.config.auth, loginFailuresPerMinute: 3, publicFailuresPerSecond: 0.2 },
    },
  });
  const ask = (path: string, headers: Record<string, string> = {}) =>
    app.request(`http://api.example${path}`, { headers: { 'X-OpenStack-Ironic-API-Version': '1.96', ...headers } });
  const wrong = { Authorization: 'Bearer wrong' };
  const statuses = [];
  for (let i = 0; i < 5; i += 1) statuses.push((await ask('/v1/nodes', wrong)).status);
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect(Number((await ask('/v1/nodes', wrong)).headers.get('Retry-After'))).toBeGreaterThan(0);
  // who was known already is let through
  await as('reader', 'GET', '/v1/nodes');
  expect((await ask('/v1/nodes', { ...headersOf('reader') })).status).toBe(200);
  const lookups = [];
  for (let i = 0; i < 6; i += 1) lookups.push((await ask('/v1/lookup?addresses=52:54:00:00:00:77')).status);
  expect(lookups).toEqual([404, 404, 404, 404, 429, 429]);
});

test('pages of other sites are not served', async () => {
  const from = (Origin: string, more = {}) =>
    api.call('GET', '/v1/nodes', undefined, '1.96', {
      ...headersOf('admin'),
      Origin,
      ...more,
    });
  expect(await from('https://evil.example')).toMatchObject({ status: 403 });
  // a name that was made to lead here
  expect(await from('http://evil.example', { Host: 'evil.example' })).toMatchObject({ status: 403 });
  expect(await from('http://127.0.0.1:6385', { Host: '127.0.0.1:6385' })).toMatchObject({ status: 200 });
});

test('a caller that may not enrol nodes, nor log in, is refused before a byte of the body is read', async () => {
  const app = createApp(api.context);
  const send = async (path: string, headers: Record<string, string>, bytes: number) => {
    let read = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (stream) => {
          read += 65_536;
          if (read > bytes) stream.close();
          else stream.enqueue(new Uint8Array(65_536).fill(0x20));
        },
      },
      { highWaterMark: 0 },
    );
    const { status } = await app.request(`http://api.example${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked', ...headers },
      body,
      duplex: 'half',
    });
    return { status, read };
  };
  expect(await send('/v1/nodes/mine/states/provision', {}, 10_000_000)).toEqual({ status: 401, read: 0 });
  expect(await send('/v1/x/states/provision', {}, 10_000_000)).toEqual({ status: 401, read: 0 });
  const member = { ...headersOf('member') };
  const { status, read } = await send('/v1/x/states/provision', member, 10_000_000);
  expect([status, read < 2_000_000]).toEqual([413, true]);
  expect((await send('/v1/nodes', member, 10_000_000)).status).toBe(413);
});
