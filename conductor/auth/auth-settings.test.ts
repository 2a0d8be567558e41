import { describe, expect, test } from 'vitest';
import { authWarnings } from '#conductor/auth/auth-settings.ts';
import { readConfig } from '#conductor/start/config.ts';

const elsewhere = { BATON_HOST: '192.0.2.1' };

describe('without authentication', () => {
  test('the conductor refuses to listen where others reach it, and says what to do', () => {
    expect(() => readConfig(elsewhere)).toThrow(
      /BATON_AUTH: with BATON_HOST=192\.0\.2\.1 others .* BATON_ALLOW_UNAUTHENTICATED=true/,
    );
  });

  test.each(['127.0.0.1', '127.3.2.1', '::1', 'localhost'])('it listens on %s', (host) => {
    expect(readConfig({ BATON_HOST: host }).auth.method).toBe('none');
  });

  test('it does not stand behind a proxy that others reach', () => {
    const proxied = { BATON_PUBLIC_URL: 'https://baton.example' };
    expect(() => readConfig(proxied)).toThrow(/BATON_AUTH: BATON_PUBLIC_URL=https:\/\/baton\.example says that others/);
    expect(readConfig({ ...proxied, BATON_ALLOW_UNAUTHENTICATED: 'true' }).auth.method).toBe('none');
    expect(readConfig({ BATON_PUBLIC_URL: 'http://[::1]:6385' }).auth.method).toBe('none');
  });

  test('it listens anywhere when told so', () => {
    expect(readConfig({ ...elsewhere, BATON_ALLOW_UNAUTHENTICATED: 'true' }).auth.method).toBe('none');
    expect(() => readConfig({ ...elsewhere, BATON_ALLOW_UNAUTHENTICATED: 'false' })).toThrow('BATON_AUTH');
  });
});

test('the token of the first administrator is in the data directory, with tokens only', () => {
  const settings = { ...elsewhere, BATON_DATA_DIR: '/data' };
  expect(readConfig({ ...settings, BATON_AUTH: 'token' }).auth.adminTokenFile).toBe('/data/admin-token');
  expect(readConfig({ ...settings, BATON_AUTH: 'http_basic' }).auth.adminTokenFile).toBeUndefined();
});

describe('TLS', () => {
  const tls = { BATON_AUTH: 'token', BATON_TLS_CERT_FILE: '/cert', BATON_TLS_KEY_FILE: '/key', ...elsewhere };

  test('makes the public URL an https one, and agents do not know its CA', () => {
    expect(readConfig(tls)).toMatchObject({
      publicUrl: 'https://192.0.2.1:6385',
      boot: { port: undefined, url: 'https://192.0.2.1:6385', insecureAgents: true },
    });
    expect(readConfig({ ...tls, BATON_AGENT_VERIFIES_TLS: 'true' }).boot.insecureAgents).toBe(false);
    expect(readConfig({}).boot).toEqual({ port: undefined, url: 'http://127.0.0.1:6385', insecureAgents: false });
  });

  test('may have a port of plain HTTP for booting beside it', () => {
    expect(readConfig({ ...tls, BATON_BOOT_PORT: '8080' }).boot).toMatchObject({
      port: 8080,
      url: 'http://192.0.2.1:8080',
    });
    const everywhere = { ...tls, BATON_HOST: '::', BATON_PUBLIC_URL: 'https://baton.example', BATON_BOOT_PORT: '8080' };
    expect(() => readConfig(everywhere)).toThrow('BATON_BOOT_URL: with BATON_HOST=::');
    expect(readConfig({ ...everywhere, BATON_BOOT_URL: 'http://baton.example:8080/' }).boot.url).toBe(
      'http://baton.example:8080',
    );
  });

  test('needs a certificate and its key', () => {
    expect(() => readConfig({ BATON_TLS_CERT_FILE: '/cert' })).toThrow('BATON_TLS_KEY_FILE: both or neither');
  });
});

test('lists that can not be read are named', () => {
  expect(() => readConfig({ BATON_IMAGE_URL_ALLOW: 'a b', BATON_AGENT_NETWORKS: 'agents.example' })).toThrow(
    /BATON_IMAGE_URL_ALLOW: "a b" must be .*\n.*BATON_AGENT_NETWORKS: "agents\.example" must be/,
  );
});

test('loopback may be called by a conductor on loopback alone', () => {
  const { images, agents } = readConfig({}).outbound;
  expect([images.allowLoopback, agents.allowLoopback]).toEqual([true, true]);
  expect(readConfig({ ...elsewhere, BATON_AUTH: 'token' }).outbound.images.allowLoopback).toBe(false);
});

test('what others reach in clear, or as any machine, is warned of', () => {
  const given = { ...elsewhere, BATON_AUTH: 'token' };
  expect(authWarnings(readConfig(given))).toEqual([
    expect.stringContaining('without BATON_TLS_CERT_FILE'),
    expect.stringContaining('BATON_AGENT_NETWORKS is not set'),
  ]);
  const tls = { BATON_TLS_CERT_FILE: '/c', BATON_TLS_KEY_FILE: '/k', BATON_AGENT_NETWORKS: '192.0.2.0/24' };
  expect(authWarnings(readConfig({ ...given, ...tls }))).toEqual([]);
  expect(authWarnings(readConfig({ BATON_AUTH: 'token' }))).toEqual([]);
  expect(() => readConfig({ BATON_AUTH: 'basic' })).toThrow('BATON_AUTH: must be none, http_basic or token');
});
