import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readClientSettings } from '#conductor/cli/shell/client-settings.ts';

const read = (environment: Record<string, string>, insecure = false) => readClientSettings(environment, { insecure });

test('the conductor is found by BATON_URL, or by what Ironic’s clients read', () => {
  expect(read({})).toEqual({
    url: 'http://127.0.0.1:6385',
    authorization: undefined,
    authorities: undefined,
    insecure: false,
  });
  expect(read({ BATON_URL: 'https://c:6385/', OS_ENDPOINT: 'http://other' }).url).toBe('https://c:6385');
  expect(read({ OS_ENDPOINT: 'http://c:6385/v1/' }).url).toBe('http://c:6385');
  expect(read({ OS_BAREMETAL_ENDPOINT_OVERRIDE: 'http://c/baremetal' }).url).toBe('http://c/baremetal');
  expect(() => read({ BATON_URL: 'c:6385' })).toThrow('BATON_URL: it must be like http://');
  expect(() => read({ BATON_URL: 'http://me:secret@c' })).toThrow(/no credentials here(?!.*secret)/);
});

test('the conductor of this host is found by its own settings', () => {
  expect(read({ BATON_HOST: '192.0.2.1' }).url).toBe('http://192.0.2.1:6385');
  const own = { BATON_HOST: '2001:db8::1', BATON_PORT: '443', BATON_TLS_CERT_FILE: '/etc/baton/tls.pem' };
  expect(read(own).url).toBe('https://[2001:db8::1]');
  expect(read({ ...own, BATON_PUBLIC_URL: 'https://baton.example:6385/' }).url).toBe('https://baton.example:6385');
  expect(read({ ...own, BATON_URL: 'http://other:6385' }).url).toBe('http://other:6385');
});

test('a token, or a name with its password', async () => {
  const basic = `Basic ${Buffer.from('ada:pa:ss').toString('base64')}`;
  expect(read({ BATON_TOKEN: 'abc' }).authorization).toBe('Bearer abc');
  expect(read({ BATON_USERNAME: 'ada', BATON_PASSWORD: 'pa:ss' }).authorization).toBe(basic);
  const os = { OS_USERNAME: 'ada', OS_PASSWORD: 'pa:ss' };
  expect(read({ ...os, OS_AUTH_TYPE: 'http_basic' }).authorization).toBe(basic);
  expect(read({ ...os, OS_AUTH_TYPE: 'password' }).authorization).toBeUndefined();
  expect(() => read({ BATON_TOKEN: 'abc', BATON_USERNAME: 'ada' })).toThrow('one of them must go');
  expect(() => read({ BATON_USERNAME: 'ada' })).toThrow('BATON_PASSWORD: it must be set');
  expect(() => read({ BATON_TOKEN: 'two secret words' })).toThrow(/^BATON_TOKEN: it must be one word$/);

  const directory = await mkdtemp(join(tmpdir(), 'baton-settings-'));
  try {
    await writeFile(join(directory, 'token'), 'abc\n');
    expect(read({ BATON_TOKEN_FILE: join(directory, 'token') }).authorization).toBe('Bearer abc');
    expect(read({ BATON_CACERT: join(directory, 'token') }).authorities).toBe('abc\n');
    expect(() => read({ BATON_TOKEN_FILE: join(directory, 'none') })).toThrow('BATON_TOKEN_FILE: read');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('certificates are not looked at when told so', () => {
  expect(read({}, true).insecure).toBe(true);
  expect(read({ BATON_INSECURE: 'true' }).insecure).toBe(true);
});
