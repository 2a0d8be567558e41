import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_AUTH: 'token', BATON_PUBLIC_URL: 'http://api.example' } });
});
afterAll(() => api.close());

const board = { 'X-Baton-Board': '1', Origin: 'http://api.example' };

async function newToken(name: string, expiresAt?: Date): Promise<string> {
  return (await api.context.auth.tokens.create({ name, role: 'admin', expiresAt })).token;
}

async function logIn(token: string, target = api) {
  const answer = await target.call('POST', '/v1/session', undefined, undefined, { Authorization: `Bearer ${token}` });
  const given = answer.headers.get('set-cookie') ?? '';
  return { ...answer, given, cookie: { Cookie: given.split(';')[0] ?? '' } };
}

const ask = (method: string, path: string, headers: Readonly<Record<string, string>>, body?: unknown) =>
  api.call(method, path, body, undefined, headers);

test('a session stands for its token, out of reach of scripts, and ends by DELETE', async () => {
  const token = await newToken('alice');
  const { status, body, given, cookie } = await logIn(token);
  expect([status, body]).toEqual([201, { user: 'alice', role: 'admin', project: null }]);
  expect(given).toMatch(/^baton=.*; Path=\/; Expires=.*; HttpOnly; SameSite=Strict$/);
  expect(given).not.toContain(token);
  expect(await ask('GET', '/v1/session', cookie)).toMatchObject({ status: 200, body: { user: 'alice' } });
  expect(await ask('GET', '/v1/nodes', cookie)).toMatchObject({ status: 200 });

  const ended = await ask('DELETE', '/v1/session', { ...cookie, ...board });
  expect([ended.status, ended.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')]);
  // kept by somebody
  expect(await ask('GET', '/v1/nodes', cookie)).toMatchObject({ status: 401 });
  expect(rowsOf(await api.context.db.execute(sql`select from sessions`))).toEqual([]);
});

test('changes by a session come from the board alone', async () => {
  const { cookie } = await logIn(await newToken('bob'));
  const create = (headers: Readonly<Record<string, string>>) =>
    ask('POST', '/v1/nodes', { ...cookie, ...headers }, { driver: 'fake-hardware' });
  const { Origin } = board;
  for (const headers of [
    {},
    { Origin },
    { 'X-Baton-Board': '1' },
    { ...board, 'Sec-Fetch-Site': 'same-site' },
    { ...board, Origin: 'http://evil.example' },
  ]) {
    expect(await create(headers)).toMatchObject({ status: 403 });
  }
  expect(await ask('GET', '/v1/nodes', { ...cookie, Origin: 'http://evil.example' })).toMatchObject({ status: 403 });
  expect(await create({ ...board, 'Sec-Fetch-Site': 'same-origin' })).toMatchObject({ status: 201 });
});

test('a session ends with its token', async () => {
  const { cookie } = await logIn(await newToken('carol'));
  await api.context.auth.tokens.remove('carol');
  const refused = await ask('GET', '/v1/nodes', { ...cookie, ...board });
  expect([refused.status, refused.fault]).toEqual([401, 'The token is not known, or has expired']);

  // also while it is remembered
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const soon = await logIn(await newToken('dave', new Date(Date.now() + 3000)));
  expect(await ask('GET', '/v1/nodes', soon.cookie)).toMatchObject({ status: 200 });
  vi.setSystemTime(Date.now() + 3001);
  expect(await ask('GET', '/v1/nodes', soon.cookie)).toMatchObject({ status: 401 });
});

test('what is not a session is none, and no session begins with another', async () => {
  for (const value of ['', 'x', 'sealed:v1:0123456789abcdef:AAAA', '"; drop table sessions'])
    expect(await ask('GET', '/v1/nodes', { Cookie: `baton=${value}` })).toMatchObject({ status: 401 });
  expect(await logIn('nonsense')).toMatchObject({ status: 401, given: '' });

  const { cookie } = await logIn(await newToken('erin'));
  expect(await ask('POST', '/v1/session', { ...cookie, ...board })).toMatchObject({ status: 400 });
  await api.context.db.execute(sql`update sessions set ends_at = now() - interval '1 second'`);
  const { sessions } = api.context.auth;
  const { cookie: other } = await sessions.begin({ kind: 'token', text: 'x' });
  expect(await sessions.find(other)).toEqual({ kind: 'token', text: 'x' });
  // who begins one sweeps those that have ended
  expect(rowsOf(await api.context.db.execute(sql`select from sessions`))).toHaveLength(1);
  await expect(sessions.begin({ kind: 'token', text: 'x'.repeat(4000) })).rejects.toThrow(/too long/);
});

test('under TLS the cookie is for TLS and this host alone; where nobody logs in there is none', async () => {
  const secure = await openTestApi({ settings: { BATON_AUTH: 'token', BATON_PUBLIC_URL: 'https://api.example' } });
  try {
    const { token } = await secure.context.auth.tokens.create({ name: 'frank', role: 'reader' });
    expect((await logIn(token, secure)).given).toMatch(/^__Host-baton=.*; Secure; SameSite=Strict$/);
  } finally {
    await secure.close();
  }
  const open = await openTestApi();
  try {
    expect(await logIn('x', open)).toMatchObject({ status: 400 });
    expect(await open.call('GET', '/v1/session')).toMatchObject({ status: 200, body: { role: 'admin' } });
  } finally {
    await open.close();
  }
});
