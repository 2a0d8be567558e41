import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadSecrets, parseKeys } from '#conductor/kernel/secrets/key-file.ts';
import { readConfig } from '#conductor/start/config.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-keys-'));
});
afterAll(() => rm(folder, { recursive: true }));

const base64 = (): string => randomBytes(32).toString('base64');

test('PostgreSQL needs a key file, and the refusal says how to make one', () => {
  expect(() => readConfig({ DATABASE_URL: 'postgres://x' })).toThrow(
    /BATON_SECRET_KEY_FILE: .*openssl rand -base64 32/,
  );
  expect(readConfig({ DATABASE_URL: 'postgres://x', BATON_SECRET_KEY_FILE: '/k' }).secretKeyFile).toBe('/k');
});

test('the first line seals, all open', async () => {
  const file = join(folder, 'keys');
  const [first, second] = [base64(), base64()];
  await writeFile(file, `# old\n${first}\n`, { mode: 0o600 });
  const load = () => loadSecrets({ secretKeyFile: file, dataDirectory: '/nowhere' });
  const sealed = (await load()).seal('x', 'p');
  await writeFile(file, `${second}\n\n${first}\n`);
  const rotated = await load();
  expect(rotated.open(sealed, 'p')).toBe('x');
  expect(sealed.startsWith(rotated.prefix)).toBe(false);
});

test('a private database gets a key of its own, once, for its owner alone', async () => {
  const config = { secretKeyFile: undefined, dataDirectory: join(folder, 'data') };
  const sealed = (await loadSecrets(config)).seal('x', 'p');
  expect((await loadSecrets(config)).open(sealed, 'p')).toBe('x');
  const file = join(folder, 'data', 'secret.key');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, 'data'))).mode & 0o777).toBe(0o700);
  expect(parseKeys(await readFile(file, 'utf8'), 'f')).toHaveLength(1);
});

test.each([
  ['short', /line 1 is not base64 of 32 bytes/],
  [`${'A'.repeat(44)}\n`, /line 1 is not/],
])('refuses %j', (text, message) => {
  expect(() => parseKeys(text, 'f')).toThrow(message);
  // a key that was mistyped is still nearly a key
  expect(() => parseKeys(text, 'f')).not.toThrow(text.trim());
});

test('a file that others can read is not used', async () => {
  const file = join(folder, 'open');
  await writeFile(file, base64(), { mode: 0o644 });
  const config = { secretKeyFile: file, dataDirectory: '/nowhere' };
  await expect(loadSecrets(config)).rejects.toMatchObject({
    message: expect.stringContaining('BATON_SECRET_KEY_FILE') as string,
    cause: { message: expect.stringContaining(`chmod 600 ${file}`) as string },
  });
});

test('a file that is not there, or has no key, is named', async () => {
  const config = { secretKeyFile: join(folder, 'none'), dataDirectory: '/nowhere' };
  await expect(loadSecrets(config)).rejects.toThrow(/BATON_SECRET_KEY_FILE: read .*none/);
  expect(() => parseKeys('# none\n', 'f')).toThrow(/^f has no key; `openssl/);
});
