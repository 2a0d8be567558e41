import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp } from '#conductor/http/app.ts';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { openCredential } from '#conductor/sites/credentials.ts';
import { createLog } from '#shared/log.ts';
import { startEosApi } from '#test/simulators/switch/eos.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const path = '/api/v1.0/credentials';
let api: TestApi;
let eos: Awaited<ReturnType<typeof startEosApi>>;
beforeAll(async () => {
  eos = await startEosApi({ ports: ['Ethernet1'], vlans: [1, 100] });
  const { endpoint, certificate } = eos;
  const entry = { switchId: 'leaf1', driver: 'eos', endpoint, certificate, credential: 'leafs', ports: ['Ethernet1'] };
  const defaults = { provisioning: 'blue', cleaning: 'blue', tenant: 'blue' };
  api = await openTestApi({
    networks: { switches: [entry], networks: [{ name: 'blue', vlans: portVlans(100) }], defaults },
  });
});
afterAll(async () => {
  await api?.close();
  await eos?.stop();
});

const call = (method: string, rest: string, body?: unknown) => api.call(method, `${path}${rest}`, body, '');

test('a credential is stored, replaced, shown without its password, opened, and forgotten', async () => {
  const made = await call('PUT', '/rack', { username: 'root', password: 'one' });
  expect(made).toMatchObject({ status: 201, body: { name: 'rack', username: 'root' } });
  expect((await call('PUT', '/rack', { username: 'admin', password: 'two' })).status).toBe(200);
  expect(await openCredential(api.context, 'rack')).toEqual({ username: 'admin', password: 'two' });
  expect(await openCredential(api.context, 'other')).toBeUndefined();
  const listed = await call('GET', '');
  expect(listed.body).toEqual({
    credentials: [{ name: 'rack', username: 'admin', updated_by: null, updated_at: expect.any(String) }],
  });
  expect((await call('GET', '/rack')).body).toEqual((listed.body['credentials'] as unknown[])[0]);
  expect((await call('DELETE', '/rack')).status).toBe(204);
  expect((await call('DELETE', '/rack')).status).toBe(404);
  expect((await call('GET', '/rack')).status).toBe(404);
});

test('one that documents name stays, unless it is forced', async () => {
  await call('PUT', '/rack', { username: 'root', password: 'one' });
  const text = nodeDocument('n1').replace('fake_id: n1', 'fake_id: n1, credential: rack');
  const yaml = { 'Content-Type': 'application/x-yaml' };
  await api.call('POST', '/api/v1.0/configdocs/nodes', text, '', yaml);
  const refused = await call('DELETE', '/rack');
  expect([refused.status, refused.fault]).toEqual([
    409,
    'Credential rack is named by drydock/BaremetalNode/v1/n1; change those first, or delete it with force=true.',
  ]);
  expect((await call('DELETE', '/rack?force')).status).toBe(204);
  const commit = await api.call('POST', '/api/v1.0/commitconfigdocs', undefined, '');
  expect(JSON.stringify(commit.body)).toContain('UnknownCredential');
});

test('a switch is logged in to with the one that it names, as it is now, and that one stays', async () => {
  const { networks } = api.context;
  const port = {
    uuid: 'p',
    address: '52:54:00:00:00:01',
    pxeEnabled: true,
    portgroupUuid: null,
    physicalNetwork: null,
  };
  const ports = [{ ...port, localLinkConnection: { switch_id: 'leaf1', port_id: 'Ethernet1' } }];
  const move = () =>
    networks.connect({
      nodeUuid: 'n',
      networkInterface: 'switchport',
      ports,
      destination: { purpose: 'provisioning' },
    });
  await expect(move()).rejects.toThrow(
    'switch leaf1: there is no credential leafs: store it by baton credential set leafs username=USER password=@FILE',
  );
  await call('PUT', '/leafs', { username: eos.username, password: 'hunter22' });
  await expect(move()).rejects.toThrow('refused the login of baton');
  await call('PUT', '/leafs', { username: eos.username, password: eos.password });
  expect(await move()).toMatchObject([{ network: 'blue', vlan: 100 }]);
  const refused = await call('DELETE', '/leafs');
  expect([refused.status, refused.fault]).toEqual([
    409,
    'Credential leafs is named by switch leaf1 of the networks file; change those first, or delete it with force=true.',
  ]);
});

test.each([
  ['/rack', { username: 'root' }, 'password'],
  ['/rack', { password: 'one' }, 'username'],
  ['/rack', { username: 'root', password: 1 }, 'password'],
  ['/rack', { username: 'root', password: 'x'.repeat(1025) }, '1024 characters'],
  ['/rack', { username: 'root', password: 'one', realm: 'x' }, 'realm'],
  ['/rack', { username: 'ro\0ot', password: 'one' }, 'U+0000'],
  ['/ra%20ck', { username: 'root', password: 'one' }, 'credential: must be up to 255'],
])('%s with %j is refused', async (rest, body, fault) => {
  const answer = await call('PUT', rest, body);
  expect([answer.status, answer.fault]).toEqual([400, expect.stringContaining(fault)]);
});

test('the log says which one was stored, replaced and deleted, and never a password', async () => {
  const lines: string[] = [];
  const log = createLog({ component: 'conductor', level: 'info', only: { write: (line) => void lines.push(line) } });
  const app = createApp({ ...api.context, log });
  const ask = (method: string, body?: object) =>
    app.request(`http://api.example${path}/logged`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  for (const password of ['hush-1', 'hush-2']) expect((await ask('PUT', { username: 'root', password })).ok).toBe(true);
  expect((await ask('DELETE')).status).toBe(204);
  const reported = lines.map((line) => JSON.parse(line) as { credential?: string; msg: string });
  expect(reported.filter(({ credential }) => credential === 'logged').map(({ msg }) => msg)).toEqual([
    'site credential stored',
    'site credential replaced',
    'site credential deleted',
  ]);
  expect(lines.join()).not.toContain('hush');
});
