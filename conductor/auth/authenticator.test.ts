import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hash } from 'bcryptjs';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiTokens, findApiToken, tokenDigest } from '#conductor/auth/api-tokens.ts';
import type { AuthConfig } from '#conductor/auth/auth-settings.ts';
import { openAuthenticator, readCredentials } from '#conductor/auth/authenticator.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let database: Database;
let directory: string;
beforeAll(async () => {
  database = await openTestDatabase();
  directory = await mkdtemp(join(tmpdir(), 'baton-auth-'));
});
beforeEach(() => database.db.execute(sql`truncate api_tokens`));
afterAll(async () => {
  await database.close();
  await rm(directory, { recursive: true, force: true });
});

const open = (config: Partial<AuthConfig>) =>
  openAuthenticator(
    {
      method: 'token',
      allowUnauthenticated: false,
      htpasswdFile: join(directory, 'htpasswd'),
      adminTokenFile: undefined,
      loginFailuresPerMinute: 30,
      publicFailuresPerSecond: 50,
      ...config,
    },
    { db: database.db, clock: { now: () => new Date() }, log: silentLog, secrets: testSecrets },
  );

describe('the token of the first administrator', () => {
  test('is made when there is none, for its owner alone, and stays', async () => {
    const adminTokenFile = join(directory, 'data', 'admin-token');
    const first = await open({ adminTokenFile });
    const text = (await readFile(adminTokenFile, 'utf8')).trim();
    expect((await stat(adminTokenFile)).mode & 0o777).toBe(0o600);
    expect(first.recall({ kind: 'token', text })).toEqual({ user: 'admin-token', role: 'admin', project: undefined });
    expect(await first.check({ kind: 'token', text: `${text}x` })).toBeUndefined();
    first.close();
    const second = await open({ adminTokenFile });
    expect(second.recall({ kind: 'token', text })?.role).toBe('admin');
    second.close();
  });

  test('must not be guessable', async () => {
    const adminTokenFile = join(directory, 'short');
    await writeFile(adminTokenFile, 'secret\n', { mode: 0o600 });
    await expect(open({ adminTokenFile })).rejects.toThrow(/short must hold a token of at least 32 characters/);
  });
});

test('an htpasswd file is read again when it changes, and stays in force while it is broken', async () => {
  const file = join(directory, 'htpasswd');
  const line = async (name: string) => `${name}:${await hash('secret', 4)}\n`;
  await writeFile(file, await line('alice'));
  const auth = await open({ method: 'http_basic' });
  const of = (name: string) => auth.check({ kind: 'password', text: `${name}:secret` });
  expect(await of('alice')).toEqual({ user: 'alice', role: 'admin', project: undefined });
  await writeFile(file, 'alice:nonsense\n');
  await writeFile(file, `${await line('bob')}# longer\n`);
  await waitUntil('bob', async () => ((await of('bob')) ? true : undefined), { timeoutMs: 240_000, everyMs: 100 });
  expect(auth.recall({ kind: 'password', text: 'alice:secret' })).toBeUndefined();
  auth.close();
});

test('the start fails where the htpasswd file is missing or holds another hash', async () => {
  const htpasswdFile = join(directory, 'none');
  await expect(open({ method: 'http_basic', htpasswdFile })).rejects.toThrow(/BATON_HTPASSWD_FILE: read .*none/);
  await writeFile(htpasswdFile, 'a:$apr1$x$y\n');
  await expect(open({ method: 'http_basic', htpasswdFile })).rejects.toThrow(/none line 1: .*bcrypt/);
});

describe('a bearer token', () => {
  const at = (time: () => number) => createApiTokens(database.db, { now: () => new Date(time()), log: silentLog });

  test('is kept as a digest, found, and asked for once in five seconds at most', async () => {
    let now = Date.parse('2026-11-21T00:00:00Z');
    const [ours, others] = [at(() => now), at(() => now)];
    const { token } = await ours.create({ name: 'ci', role: 'reader', project: 'p' });
    const caller = { user: 'ci', role: 'reader', project: 'p' };
    expect(ours.recall(token)).toBeUndefined();
    expect(await ours.find(token)).toEqual(caller);
    expect(ours.recall(token)).toEqual(caller);
    expect(JSON.stringify(await findApiToken(database.db, tokenDigest(token)))).not.toContain(token);
    // another conductor has deleted it
    await others.remove('ci');
    expect(ours.recall(token)).toEqual(caller);
    now += 5001;
    expect(ours.recall(token)).toBeUndefined();
    expect(await ours.find(token)).toBeUndefined();
  });

  test('ends when it expires, also while it is remembered', async () => {
    let now = Date.parse('2026-11-21T00:00:00Z');
    const tokens = at(() => now);
    const { token } = await tokens.create({ name: 'short', role: 'admin', expiresAt: new Date(now + 1000) });
    expect(await tokens.find(token)).toMatchObject({ user: 'short' });
    now += 1000;
    expect(tokens.recall(token)).toBeUndefined();
    expect(await tokens.find(token)).toBeUndefined();
  });

  test('says when it was last used', async () => {
    const tokens = at(() => Date.now());
    const { token } = await tokens.create({ name: 'used', role: 'admin' });
    await tokens.find(token);
    const usedAt = await waitUntil(
      'last_used_at',
      async () => (await findApiToken(database.db, tokenDigest(token)))?.lastUsedAt ?? undefined,
      {
        timeoutMs: 240_000,
        everyMs: 10,
      },
    );
    expect(Date.now() - usedAt.getTime()).toBeLessThan(60_000);
  });
});

test.each([
  [{ authorization: 'Bearer abc' }, { kind: 'token', text: 'abc' }],
  [{ authorization: 'bearer abc' }, { kind: 'token', text: 'abc' }],
  [{ 'x-auth-token': 'abc' }, { kind: 'token', text: 'abc' }],
  [
    { authorization: `Basic ${btoa('a:b:c')}`, 'x-auth-token': 'x' },
    { kind: 'password', text: 'a:b:c' },
  ],
  [{}, undefined],
] as const)('credentials are read from %j', (headers: Readonly<Record<string, string>>, expected) => {
  expect(readCredentials((name) => headers[name])).toEqual(expected);
});
