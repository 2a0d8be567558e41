import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

const authorization = `Basic ${Buffer.from('admin:secret').toString('base64')}`;
const system = '/redfish/v1/Systems/1';
const reset = `${system}/Actions/ComputerSystem.Reset`;
const boot = JSON.stringify({ Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' } });
let simulator: RedfishSimulator;

beforeEach(async () => {
  simulator = await startRedfishSimulator({ machine: createMemoryMachine(), username: 'admin', password: 'secret' });
});

afterEach(async () => {
  await simulator.close();
});

interface Call {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const call = (path: string, init: Call = {}) =>
  fetch(`${simulator.address}${path}`, { ...init, headers: { authorization, ...init.headers } });

test('every link leads to a resource that knows its own path', async () => {
  const seen = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    if (seen.has(path)) return;
    seen.add(path);
    const response = await call(path);
    expect([path, response.status]).toEqual([path, 200]);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ '@odata.id': path });
    expect(response.headers.get('odata-version')).toBe('4.0');
    expect(response.headers.get('allow')).toContain('GET');
    expect(response.headers.get('etag')).toMatch(/^"/);
    // without the place in the document
    for (const [, link] of text.matchAll(/"@odata\.id":"([^"#]+)/g)) await visit(link ?? '');
  };
  await visit('/redfish/v1/');
  expect(seen.size).toBeGreaterThan(12);
});

describe('errors carry extended messages', () => {
  test.each([
    ['no credentials', system, { headers: { authorization: '' } }, 401, 'NoValidSession'],
    ['no such resource', `${system}9`, {}, 404, 'ResourceNotFound'],
    [
      'a method that is not allowed',
      '/redfish/v1/Chassis',
      { method: 'PATCH', body: '{}' },
      405,
      'OperationNotAllowed',
    ],
    [
      'a stale ETag',
      system,
      { method: 'PATCH', body: boot, headers: { 'if-match': '"x"' } },
      412,
      'PreconditionFailed',
    ],
    ['broken JSON', reset, { method: 'POST', body: '{' }, 400, 'MalformedJSON'],
    ['no reset type', reset, { method: 'POST', body: '{}' }, 400, 'ActionParameterMissing'],
    [
      'an unknown reset type',
      reset,
      { method: 'POST', body: '{"ResetType":"Nmi"}' },
      400,
      'ActionParameterNotSupported',
    ],
    ['a read-only property', system, { method: 'PATCH', body: '{"Model":"x"}' }, 400, 'PropertyNotWritable'],
  ] as const)('%s', async (_name, path, init, status, message) => {
    const response = await call(path, init);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { '@Message.ExtendedInfo': [{ MessageId: `Base.1.8.${message}` }] },
    });
  });

  test('a missing If-Match where one is demanded', async () => {
    simulator.quirks.requireIfMatch = true;
    expect((await call(system, { method: 'PATCH', body: boot })).status).toBe(428);
  });
});

test('sessions begin, serve and end', async () => {
  const body = JSON.stringify({ UserName: 'admin', Password: 'secret' });
  const login = await call('/redfish/v1/SessionService/Sessions', { method: 'POST', body });
  expect(login.status).toBe(201);
  const headers = { authorization: '', 'x-auth-token': login.headers.get('x-auth-token') ?? '' };
  expect((await call(system, { headers })).status).toBe(200);
  expect((await call(login.headers.get('location') ?? '', { method: 'DELETE', headers })).status).toBe(204);
  expect((await call(system, { headers })).status).toBe(401);
});

test('injected faults hit as often as told, then the service is itself again', async () => {
  simulator.inject({ method: 'GET', path: /Systems/, status: 503, times: 2 });
  const statuses = [await call(system), await call('/redfish/v1/Chassis'), await call(system), await call(system)];
  expect(statuses.map((response) => response.status)).toEqual([503, 200, 503, 200]);
  simulator.inject({ path: /Systems/, drop: true });
  await expect(call(system)).rejects.toThrow(/fetch failed/);
  expect(simulator.counters.requests).toBe(5);
});

test('a frozen BMC answers once it thaws', async () => {
  simulator.freeze();
  const waiting = call(system);
  simulator.thaw();
  expect((await waiting).status).toBe(200);
});
