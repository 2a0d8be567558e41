import { expect, test } from 'vitest';
import { readConfig } from '#conductor/start/config.ts';
import { describeSettings } from '#conductor/start/environment.ts';

test('has a default for everything', () => {
  const config = readConfig({});
  expect(config).toMatchObject({ host: '127.0.0.1', port: 6385, publicUrl: 'http://127.0.0.1:6385' });
  expect(Object.isFrozen(config)).toBe(true);
});

test('lists all problems in one message, unknown settings too', () => {
  const environment = { BATON_PORT: 'many', BATON_HEARTBEAT_TIMEOUT: '-1', BATON_PROT: '1', DATABASE_URL: 'mysql://x' };
  expect(() => readConfig(environment)).toThrow(
    /BATON_PORT: .*\n.*DATABASE_URL: .*\n.*HEARTBEAT.*\n.*BATON_PROT: no such/,
  );
});

test.each([
  ['BATON_PORT', 'abc', 'must be a port number (0 to 65535)'],
  ['BATON_PORT', '70000', 'must be a port number (0 to 65535)'],
  ['BATON_BOOT_PORT', 'x', 'must be a port number (1 to 65535)'],
  ['BATON_HEARTBEAT_TIMEOUT', '-1', 'must be a number above 0'],
  ['BATON_STEP_TIMEOUT', '1h', 'must be a number, 0 or more'],
  ['BATON_MAX_ACTIVE_NODES', '1.5', 'must be a whole number above 0'],
  ['BATON_TAKEOVER_INTERVAL', '-1', 'must be a number (0 to 86400)'],
  ['BATON_ALLOCATION_ERROR_DAYS', 'x', 'must be a whole number (0 to 36500)'],
  ['BATON_WEBHOOK_GIVE_UP', 'x', 'must be a '],
])('%s=%s is told with what would be right', (name, value, right) => {
  expect(() => readConfig({ [name]: value })).toThrow(`${name}: ${right}`);
  expect(() => readConfig({ [name]: value })).toThrow(`, not '${value}'`);
});

test('what a platform sets of traces keeps no conductor that sends none from its start', () => {
  const platform = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: 'token',
    OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    OTEL_TRACES_EXPORTER: 'console',
    OTEL_SDK_DISABLED: 'TRUE',
  };
  expect(readConfig(platform).traces).toBeUndefined();
  expect(readConfig({ ...platform, OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }).traces).toBeUndefined();
  const wanted = { ...platform, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector', OTEL_SDK_DISABLED: 'false' };
  expect(() => readConfig(wanted)).toThrow('OTEL_EXPORTER_OTLP_PROTOCOL: must be http/json');
});

test.each(['postgres://u:p@a,b/baton', 'postgresql://a:5432,b:5432/baton', 'postgres:///baton?host=a,b'])(
  'several hosts in DATABASE_URL are refused unless the one that takes writes is asked for: %s',
  (url) => {
    expect(() => readConfig({ DATABASE_URL: url })).toThrow('DATABASE_URL: must say which server takes writes');
    expect(() => readConfig({ DATABASE_URL: url })).not.toThrow('u:p');
  },
);

test('one host in DATABASE_URL is not, with commas elsewhere', () => {
  const url = 'postgres://u:a,b@db/baton?options=-c%20search_path%3Da,b';
  expect(readConfig({ DATABASE_URL: url, BATON_SECRET_KEY_FILE: 'k' }).databaseUrl).toBe(url);
});

test("nodes' own ramdisks, which have no boot token, are refused where lookups need one", () => {
  const settings = { BATON_NODE_RAMDISKS: 'true', BATON_REQUIRE_BOOT_TOKEN: 'true' };
  expect(() => readConfig(settings)).toThrow('BATON_NODE_RAMDISKS: not with BATON_REQUIRE_BOOT_TOKEN=true');
  expect(readConfig({ ...settings, BATON_REQUIRE_BOOT_TOKEN: 'false' }).nodeRamdisks).toBe(true);
});

test('switches ports by default once there is a networks file', () => {
  expect(readConfig({}).defaultNetworkInterface).toBe('noop');
  expect(readConfig({ BATON_NETWORKS_FILE: 'networks.yaml' }).defaultNetworkInterface).toBe('switchport');
});

test('an IPv6 address gets its brackets in the public URL', () => {
  expect(readConfig({ BATON_HOST: 'fd00::1', BATON_AUTH: 'token' }).publicUrl).toBe('http://[fd00::1]:6385');
});

test.each(['0.0.0.0', '::'])('a conductor that listens on %s must say under which URL nodes reach it', (host) => {
  expect(() => readConfig({ BATON_HOST: host })).toThrow(`BATON_PUBLIC_URL: with BATON_HOST=${host}`);
  const publicUrl = 'http://conductor.example:6385';
  expect(readConfig({ BATON_HOST: host, BATON_AUTH: 'token', BATON_PUBLIC_URL: publicUrl })).toMatchObject({
    host,
    publicUrl,
  });
});

test('describes each setting for the docs', () => {
  const settings = describeSettings();
  expect(settings.length).toBeGreaterThan(15);
  expect(settings.filter((setting) => setting.meaning === '')).toEqual([]);
});

test('reads the priorities of cleaning steps; a step may take as long as its agent lives', () => {
  const text = 'deploy.erase_devices:0,deploy.erase_devices_metadata:99';
  expect([...readConfig({ BATON_CLEAN_STEP_PRIORITIES: text }).cleanStepPriorities]).toEqual([
    ['deploy.erase_devices', 0],
    ['deploy.erase_devices_metadata', 99],
  ]);
  for (const wrong of ['erase_devices:0', 'deploy.erase_devices', 'deploy.erase_devices:-1', 'deploy.a:1;deploy.b:2']) {
    expect(() => readConfig({ BATON_CLEAN_STEP_PRIORITIES: wrong })).toThrow(
      'BATON_CLEAN_STEP_PRIORITIES: must be like',
    );
  }
  expect(readConfig({}).stepTimeoutMs).toBe(Infinity);
  expect(readConfig({ BATON_STEP_TIMEOUT: '60' }).stepTimeoutMs).toBe(60_000);
});

test('what the command line and nobody else reads is left alone; a misspelt setting is not', () => {
  expect(readConfig({ BATON_URL: 'http://127.0.0.1:6385', BATON_TOKEN_FILE: '/x' }).port).toBe(6385);
  expect(() => readConfig({ BATON_AGENT_NETWROKS: '10.0.0.0/8' })).toThrow(
    'BATON_AGENT_NETWROKS: no such setting; did you mean BATON_AGENT_NETWORKS?',
  );
  expect(() => readConfig({ BATON_COLOUR: 'red' })).toThrow(/BATON_COLOUR: no such setting$/);
});

test('what opens nothing needs no key', () => {
  const settings = { DATABASE_URL: 'postgres://x' };
  expect(() => readConfig(settings)).toThrow('BATON_SECRET_KEY_FILE');
  expect(readConfig(settings, { noKeys: true })).toMatchObject({
    databaseUrl: 'postgres://x',
    secretKeyFile: undefined,
  });
});
