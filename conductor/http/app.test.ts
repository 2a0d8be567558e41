import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readFault } from '#conductor/cli/shell/render-status.ts';
import { drivers as knownDrivers } from '#conductor/drivers/table/driver-table.ts';
import { createApp, createBootApp } from '#conductor/http/app.ts';
import { maximumMinor } from '#conductor/http/routing/versions.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const newest = `1.${maximumMinor}`;

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const list = (key: string) => async (path: string) => (await api.call('GET', path)).body[key];

describe('microversions', () => {
  const versionHeaders = async (version: string, path = '/v1/nodes') => {
    const { status, headers, fault } = await api.call('GET', path, undefined, version);
    const pick = (name: string) => headers.get(`X-OpenStack-Ironic-API-${name}`);
    return { status, fault, used: pick('Version'), minimum: pick('Minimum-Version'), maximum: pick('Maximum-Version') };
  };

  test('are the first when none is asked for, the last for latest', async () => {
    const range = { status: 200, minimum: '1.1', maximum: newest };
    expect(await versionHeaders('')).toMatchObject({ ...range, used: '1.1' });
    expect(await versionHeaders('1.80')).toMatchObject({ ...range, used: '1.80' });
    expect(await versionHeaders('latest')).toMatchObject({ ...range, used: newest });
  });

  test('beyond the range are a 406 that tells it', async () => {
    expect(await versionHeaders('1.999')).toEqual({
      status: 406,
      used: null,
      minimum: '1.1',
      maximum: newest,
      fault:
        'Version 1.999 was requested but the minor version is not supported by this service. The supported version range is: ' +
        `[1.1, ${newest}].`,
    });
    expect(await versionHeaders('2.0')).toMatchObject({ status: 406, maximum: newest });
    expect(await versionHeaders('abc')).toMatchObject({ status: 406, maximum: null });
  });

  test.each(['/', '/v1'])('are negotiated at %s as well', async (path) => {
    expect(await versionHeaders('', path)).toMatchObject({ status: 200, used: '1.1', minimum: '1.1', maximum: newest });
    expect(await versionHeaders('1.80', path)).toMatchObject({ status: 200, used: '1.80' });
    expect(await versionHeaders('1.999', path)).toMatchObject({ status: 406, minimum: '1.1', maximum: newest });
  });

  test('stand on errors too', async () => {
    const answer = await api.call('GET', '/v1/nodes/nope', undefined, newest);
    expect(answer.headers.get('X-OpenStack-Ironic-API-Version')).toBe(newest);
    const id = answer.headers.get('X-OpenStack-Request-ID');
    expect(id).toMatch(/^req-/);
    expect(answer.headers.get('OpenStack-Request-ID')).toBe(id);
  });

  test('stand on refusals of strangers', async () => {
    const { context } = api;
    const answer = await createApp({ ...context, auth: { ...context.auth, unproven: undefined } }).request('/v1/nodes');
    expect(answer.status).toBe(401);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-openstack-ironic-api-version': '1.1',
      'x-openstack-ironic-api-minimum-version': '1.1',
      'x-openstack-ironic-api-maximum-version': newest,
      'www-authenticate': expect.any(String) as unknown,
    });
  });
});

test('the root document is what clients negotiate with', async () => {
  const { body } = await api.call('GET', '/', undefined, '');
  const v1 = {
    id: 'v1',
    links: [{ href: 'http://api.example/v1/', rel: 'self' }],
    status: 'CURRENT',
    min_version: '1.1',
    version: newest,
  };
  expect(body).toMatchObject({ default_version: v1, versions: [v1] });
  expect((await api.call('GET', '/v1/', undefined, '')).body).toMatchObject({ id: 'v1', version: v1 });
  expect(Object.keys((await api.call('GET', '/v1', undefined, '1.21')).body)).not.toContain('lookup');
});

test('paths work without /v1 and with a slash at the end', async () => {
  for (const path of ['/v1/nodes', '/nodes', '/v1/nodes/', '/nodes/']) {
    expect((await api.call('GET', path)).body).toEqual({ nodes: [] });
  }
});

test('an unknown path is a framework error', async () => {
  const answer = await api.call('GET', '/v1/nope');
  expect(answer.status).toBe(404);
  expect(JSON.parse(String(answer.body['error_message']))).toEqual({ code: 404, title: 'Not Found', description: '' });
});

test('an error of the application is double encoded', async () => {
  const answer = await api.call('GET', '/v1/nodes/nope');
  expect(answer.status).toBe(404);
  expect(JSON.parse(String(answer.body['error_message']))).toEqual({
    faultcode: 'Client',
    faultstring: 'Node nope could not be found.',
    debuginfo: null,
  });
});

test('malformed JSON and a body that is too large are refused', async () => {
  expect(await api.call('POST', '/v1/nodes', '{bad')).toMatchObject({
    status: 400,
    fault: expect.stringContaining('JSON') as unknown,
  });
  const large = { driver: 'fake-hardware', extra: { text: 'x'.repeat(1_100_000) } };
  expect(await api.call('POST', '/v1/nodes', large)).toMatchObject({ status: 413 });
  // a plugin has at most 1 MiB of files
  const plugin = (characters: number) => api.call('POST', '/api/v1.0/plugins', { name: 'x'.repeat(characters) });
  expect([(await plugin(4_000_000)).status, (await plugin(4_300_000)).status]).toEqual([400, 413]);
});

test.each([
  ['/v1/nodes', undefined, 'The body has no Content-Type; send it as application/json.'],
  ['/v1/nodes', 'text/plain', 'The body has Content-Type text/plain; send it as application/json.'],
  ['/api/v1.0/actions', undefined, 'The body has no Content-Type; send it as application/json.'],
])('%s with a body of type %s says which it takes', async (path, type, fault) => {
  const body = new TextEncoder().encode('{}');
  const headers: Record<string, string> = type === undefined ? {} : { 'Content-Type': type };
  const answer = await createApp(api.context).request(path, { method: 'POST', body, headers });
  expect([answer.status, readFault(await answer.text()).message]).toEqual([415, fault]);
});

test.each([
  [{ driver: 'fake-hardware', extra: { list: ['a\0'] } }, "extra.list.0: the character U+0000 can't be stored"],
  [{ driver: 'fake-hardware', extra: { 'k\0': 1 } }, "a key of extra: the character U+0000 can't be stored"],
  [{ driver: 'fake-hardware', name: '\ud800' }, 'name: a lone surrogate is not text'],
])('what PostgreSQL can not store is refused by name: %j', async (body, fault) => {
  expect(await api.call('POST', '/v1/nodes', body)).toMatchObject({
    status: 400,
    fault: expect.stringContaining(fault) as unknown,
  });
});

test('text of every plane is stored, and so is text about escapes', async () => {
  const extra = { note: '\\u0000 \u{1F980}' };
  const { status, body } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', extra });
  expect(status).toBe(201);
  expect(body['extra']).toEqual(extra);
  expect((await api.call('POST', '/v1/nodes', '{"driver": "\\ud8')).fault).toContain('JSON');
  expect((await api.call('GET', '/v1/nodes/a%00b')).status).toBe(400);
  expect((await api.call('GET', '/v1/nodes?resource_class=a%00')).status).toBe(400);
});

test('drivers', async () => {
  const drivers = (await list('drivers')('/v1/drivers')) as { name: string; hosts: string[] }[];
  expect(drivers.map((driver) => driver.name)).toEqual(knownDrivers.map(({ name }) => name));
  expect(drivers[0]?.hosts).toEqual(['test-host']);
  expect((await api.call('GET', '/v1/drivers/ipmi')).body).toMatchObject({
    type: 'dynamic',
    default_power_interface: 'ipmitool',
    enabled_network_interfaces: ['noop', 'flat', 'switchport', 'neutron'],
  });
  const some = (await api.call('GET', '/v1/drivers?fields=name,default_power_interface')).body['drivers'] as object[];
  expect(some).toContainEqual({
    name: 'ipmi',
    default_power_interface: 'ipmitool',
    links: expect.any(Array) as unknown,
  });
  expect((await api.call('GET', '/v1/drivers/ipmi?fields=bogus')).fault).toBe("fields: a driver has no field 'bogus'");
  expect((await api.call('GET', '/v1/drivers?fields=name', undefined, '1.76')).status).toBe(406);
  expect((await api.call('GET', '/v1/drivers?type=classic')).body).toEqual({ drivers: [] });
  expect((await api.call('GET', '/v1/drivers/ipmi/properties')).body).toHaveProperty('ipmi_address');
  expect((await api.call('GET', '/v1/drivers/nope')).status).toBe(404);
});

test('conductors', async () => {
  expect(await list('conductors')('/v1/conductors')).toMatchObject([{ hostname: 'test-host', alive: true }]);
  expect((await api.call('GET', '/v1/conductors/test-host')).body).toHaveProperty('drivers');
  expect((await api.call('GET', '/v1/conductors', undefined, '1.48')).status).toBe(404);
});

test('a method that a path has not is 405 and names those that it has', async () => {
  const { status, headers, body } = await api.call('DELETE', '/v1/nodes');
  expect(status).toBe(405);
  expect(headers.get('Allow')).toBe('GET, POST');
  expect(JSON.parse(String(body['error_message']))).toMatchObject({ code: 405, title: 'Method Not Allowed' });
  expect((await api.call('POST', '/v1/nodes/n1/states')).status).toBe(405);
  expect((await api.call('PATCH', '/nodes/')).status).toBe(405);
  expect((await api.call('PATCH', '/v1/bogus')).status).toBe(404);
});

test('what is not built lists as empty and refuses in words that say what to do', async () => {
  expect(await api.call('POST', '/v1/events', {})).toMatchObject({
    status: 400,
    fault: expect.stringContaining('switch ports') as unknown,
  });
  expect((await api.call('GET', '/v1/drivers/redfish/vendor_passthru/methods')).body).toEqual({});
  expect((await api.call('GET', '/v1/drivers/redfish/vendor_passthru?method=x')).status).toBe(400);
});

test('addresses in answers begin with the public URL when it is set', async () => {
  const { context } = api;
  const app = createApp({ ...context, config: { ...context.config, apiUrl: 'https://baton.example/metal' } });
  const ask = (path: string, init: RequestInit = {}) =>
    app.request(`http://10.0.0.7:6385${path}`, {
      ...init,
      headers: { 'X-OpenStack-Ironic-API-Version': '1.96', 'Content-Type': 'application/json' },
    });
  const create = () => ask('/v1/nodes', { method: 'POST', body: JSON.stringify({ driver: 'fake-hardware' }) });
  const created = await create();
  const { uuid, links } = (await created.json()) as { uuid: string; links: unknown };
  expect(created.headers.get('Location')).toBe(`https://baton.example/metal/v1/nodes/${uuid}`);
  expect(links).toEqual([
    { href: `https://baton.example/metal/v1/nodes/${uuid}`, rel: 'self' },
    { href: `https://baton.example/metal/nodes/${uuid}`, rel: 'bookmark' },
  ]);
  const { next } = (await (await ask('/v1/nodes?limit=1&fields=uuid,name')).json()) as { next: unknown };
  expect(next).toBe(`https://baton.example/metal/v1/nodes?limit=1&fields=uuid,name&marker=${uuid}`);
});

test('the OpenAPI document names the paths', async () => {
  const { body } = await api.call('GET', '/openapi.json', undefined, '');
  expect(Object.keys(body['paths'] as object)).toEqual(
    expect.arrayContaining(['/v1/nodes', '/v1/nodes/{node}/states/provision', '/v1/ports/{port}', '/v1/lookup']),
  );
});

test('what machines boot is on its own port alone, where there is one', async () => {
  const { context } = api;
  const withPort = { ...context, config: { ...context.config, boot: { ...context.config.boot, port: 8080 } } };
  expect((await createApp(context).request('/boot/boot.ipxe')).status).toBe(200);
  expect((await createApp(withPort).request('/boot/boot.ipxe')).status).toBe(404);
  expect((await createBootApp(withPort).request('/boot/boot.ipxe')).status).toBe(200);
});

test('a POST takes no query parameters that it does not know', async () => {
  const body = { name: 'a1', resource_class: 'gold' };
  const answer = await api.call('POST', '/v1/allocations?dry_run=true', body);
  expect([answer.status, answer.fault]).toEqual([400, 'Unexpected arguments: dry_run']);
  expect(await list('allocations')('/v1/allocations')).toEqual([]);
  expect((await api.call('POST', '/allocations/?dry_run=true', body)).status).toBe(400);
});

test('the page of the API is shown in no frame', async () => {
  const { headers } = await createApp(api.context).request('/docs');
  expect(headers.get('X-Frame-Options')).toBe('DENY');
  expect(headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'");
});

test('lookups by another name are refused where nobody proves who they are', async () => {
  const lookup = (host: string) =>
    createApp(api.context).request('/v1/lookup?addresses=52:54:00:00:00:01', {
      headers: { host, 'X-OpenStack-Ironic-API-Version': '1.96' },
    });
  expect((await lookup('attacker.example')).status).toBe(403);
  expect((await lookup('192.0.2.1:6385')).status).toBe(404);
});

test('no browser guesses types, nor keeps answers', async () => {
  const headersOf = async (path: string) => {
    const { headers } = await api.request(path);
    return [headers.get('x-content-type-options'), headers.get('cache-control')];
  };
  for (const path of ['/v1/nodes', '/v1/nodes/n9', '/nodes', '/api/v1.0/configdocs', '/healthz', '/v1/nowhere'])
    expect([path, ...(await headersOf(path))]).toEqual([path, 'nosniff', 'no-store']);
  for (const path of ['/docs/start.js', '/openapi.json']) expect(await headersOf(path)).toEqual(['nosniff', null]);
});
