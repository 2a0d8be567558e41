import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '#conductor/http/app.ts';
import { type ApiAnswer, openTestApi, type TestApi } from '#test/support/test-api.ts';

/** The real app with tokens: who may do what, and what others see of it. */

type Who = keyof typeof callers;
const callers = {
  admin: { role: 'admin' },
  member: { role: 'member' },
  reader: { role: 'reader' },
  'owner admin': { role: 'admin', project: 'ours' },
  'owner member': { role: 'member', project: 'ours' },
  'owner reader': { role: 'reader', project: 'ours' },
  'lessee admin': { role: 'admin', project: 'lessee' },
  'lessee member': { role: 'member', project: 'lessee' },
  'lessee reader': { role: 'reader', project: 'lessee' },
  other: { role: 'admin', project: 'other' },
} as const;

const everybody = Object.keys(callers) as Who[];
const owners: Who[] = ['owner admin', 'owner member', 'owner reader'];
const mac = '52:54:00:00:00:01';

let api: TestApi;
const tokens = new Map<string, string>();

async function as(who: Who, method: string, path: string, body?: unknown, version?: string): Promise<ApiAnswer> {
  return api.call(method, path, body, version, { Authorization: `Bearer ${tokens.get(who)}` });
}

beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_AUTH: 'token', BATON_CONSOLE: 'true' } });
  for (const [who, description] of Object.entries(callers)) {
    const { token } = await api.context.auth.tokens.create({ name: who.replace(' ', '-'), ...description });
    tokens.set(who, token);
  }
  for (const [name, owner, lessee, address] of [
    ['mine', 'ours', 'lessee', mac],
    ['foreign', 'other', null, '52:54:00:00:00:02'],
  ] as const) {
    await as('admin', 'POST', '/v1/nodes', {
      name,
      driver: 'fake-hardware',
      owner,
      lessee,
      // stays, whoever may delete it
      protected: true,
      driver_info: { redfish_address: 'https://bmc.example' },
    });
    const { uuid } = await as('admin', 'GET', `/v1/nodes/${name}`);
    await as('admin', 'POST', '/v1/ports', { node_uuid: uuid, address });
    await as('admin', 'POST', '/v1/portgroups', { node_uuid: uuid, name: `${name}-group` });
    await as('admin', 'POST', '/v1/volume/connectors', { node_uuid: uuid, type: 'ip', connector_id: `of-${name}` });
    await as('admin', 'POST', '/v1/volume/targets', {
      node_uuid: uuid,
      volume_type: 'iscsi',
      volume_id: `of-${name}`,
      boot_index: 0,
      properties: { target_portal: '192.0.2.1:3260', target_iqn: 'iqn.2026-11.example:one', target_lun: 0 },
    });
  }
});
afterAll(() => api.close());

const patch = (path: string, value: unknown) => [{ op: 'add', path, value }];
const operators: Who[] = ['admin', 'member', 'owner admin', 'owner member', 'lessee admin'];

/** Operation → who may; of the others the project `other` does not find the node, and the rest are refused. */
const operations: readonly (readonly [method: string, path: string, body: unknown, who: readonly Who[]])[] = [
  ['GET', '/v1/nodes/mine', undefined, everybody.filter((who) => who !== 'other')],
  ['GET', '/v1/nodes/mine/states', undefined, everybody.filter((who) => who !== 'other')],
  ['GET', '/v1/nodes/mine/history', undefined, ['admin', 'member', 'reader', ...owners]],
  ['GET', '/v1/nodes/mine/ports', undefined, everybody.filter((who) => who !== 'other')],
  ['PUT', '/v1/nodes/mine/states/power', { target: 'power on' }, operators],
  ['PUT', '/v1/nodes/mine/states/provision', { target: 'manage' }, operators],
  ['PUT', '/v1/nodes/mine/maintenance', { reason: 'r' }, operators],
  ['POST', '/v1/nodes/mine/plan', { target: 'inspect' }, operators],
  ['PATCH', '/v1/nodes/mine', patch('/extra/a', 1), operators],
  ['PATCH', '/v1/nodes/mine', patch('/properties/a', 1), ['admin', 'member', 'owner admin', 'owner member']],
  ['PATCH', '/v1/nodes/mine', patch('/driver_info/a', 1), ['admin', 'owner admin']],
  ['PATCH', '/v1/nodes/mine', patch('/owner', 'ours'), ['admin', 'member']],
  ['PUT', '/v1/nodes/mine/traits/CUSTOM_A', undefined, ['admin', 'member', 'owner admin']],
  ['GET', '/v1/nodes/mine/console/shell', undefined, ['admin', 'owner admin']],
  ['POST', '/v1/ports', { node_uuid: 'MINE', address: mac }, ['admin', 'owner admin']],
  ['DELETE', '/v1/nodes/mine', undefined, ['admin', 'owner admin']],
];

test.each(operations)('%s %s %j', async (method, path, body, allowed) => {
  const { uuid } = await as('admin', 'GET', '/v1/nodes/mine');
  const text = body === undefined ? undefined : JSON.stringify(body).replace('MINE', uuid);
  const outcomes = new Map<Who, string>();
  for (const who of everybody) outcomes.set(who, outcomeOf(await as(who, method, path, text)));
  const refusals = everybody.map((who) => [who, who === 'other' ? 'not found' : 'denied'] as const);
  expect(outcomes).toEqual(
    new Map(refusals.map(([who, refusal]) => [who, allowed.includes(who) ? 'let through' : refusal])),
  );
});

function outcomeOf({ status, fault }: ApiAnswer): string {
  if (status === 403 && fault?.startsWith('Access was denied to the following resource: ba')) return 'denied';
  if (status === 404 && fault?.endsWith('could not be found.')) return 'not found';
  return status === 401 ? 'unknown' : 'let through';
}

test('to hide a node is to answer as if there were none', async () => {
  const missing = await as('other', 'GET', '/v1/nodes/none');
  const hidden = await as('other', 'GET', '/v1/nodes/mine');
  expect(hidden.fault).toBe(missing.fault?.replace('none', 'mine'));
  // however the path is written
  for (const path of [
    '/nodes/mine',
    '/v1/nodes/mine/',
    '/nodes/mine/states',
    '/v1/nodes/%6Dine',
    '/v1/nodes/%6dine/states',
  ]) {
    expect([path, (await as('other', 'GET', path)).status]).toEqual([path, 404]);
    expect([path, (await as('other', 'HEAD', path)).status]).toEqual([path, 404]);
    expect([path, (await as('owner reader', 'GET', path)).status]).toEqual([path, 200]);
  }
  const { uuid } = await as('admin', 'GET', '/v1/nodes/mine');
  expect((await as('other', 'GET', `/v1/nodes/${uuid.toUpperCase()}`)).status).toBe(404);
  expect((await as('owner reader', 'GET', `/v1/nodes/${uuid.toUpperCase()}`)).status).toBe(200);
  expect(await as('other', 'POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:09' })).toMatchObject({
    status: 404,
    fault: `Node ${uuid} could not be found.`,
  });
});

describe('lists have only what is the project’s', () => {
  test.each([
    ['/v1/nodes', 'nodes', 'uuid'],
    ['/v1/nodes/detail', 'nodes', 'name'],
    ['/v1/nodes?owner=other', 'nodes', 'name'],
    ['/v1/ports', 'ports', 'address'],
    ['/v1/ports/detail', 'ports', 'address'],
    ['/v1/portgroups', 'portgroups', 'name'],
    ['/v1/portgroups/detail', 'portgroups', 'name'],
    ['/v1/volume/connectors', 'connectors', 'connector_id'],
    ['/v1/volume/targets', 'targets', 'volume_id'],
  ])('%s', async (path, key, field) => {
    const count = async (who: Who) => ((await as(who, 'GET', path)).body[key] as Record<string, unknown>[]).length;
    const isByOwner = path.includes('owner=');
    expect(await count('reader')).toBe(isByOwner ? 1 : 2);
    for (const who of ['owner reader', 'lessee reader'] as const) expect(await count(who)).toBe(isByOwner ? 0 : 1);
    const { body } = await as('owner reader', 'GET', path);
    expect(JSON.stringify((body[key] as Record<string, unknown>[]).map((each) => each[field]))).not.toMatch(
      /foreign|:02/,
    );
  });

  test.each(['/v1/ports', '/v1/portgroups', '/v1/volume/connectors', '/v1/volume/targets', '/v1/allocations'])(
    '%s?node= tells nothing of a name',
    async (path) => {
      const [hidden, missing] = [
        await as('owner reader', 'GET', `${path}?node=foreign`),
        await as('owner reader', 'GET', `${path}?node=missing`),
      ];
      expect(hidden).toMatchObject({ status: 404, fault: 'Node foreign could not be found.' });
      expect(missing.status).toBe(404);
    },
  );
});

test('what belongs to another project’s node is not found by its own id either', async () => {
  const idOf = async (path: string, key: string): Promise<string> => {
    const rows = (await as('other', 'GET', path)).body[key] as { uuid: string }[];
    return rows[0]?.uuid ?? '';
  };
  for (const [path, key] of [
    ['/v1/ports', 'ports'],
    ['/v1/portgroups', 'portgroups'],
    ['/v1/volume/connectors', 'connectors'],
    ['/v1/volume/targets', 'targets'],
  ] as const) {
    const uuid = await idOf(path, key);
    expect((await as('owner admin', 'GET', `${path}/${uuid}`)).status).toBe(404);
    expect((await as('owner admin', 'DELETE', `${path}/${uuid}`)).status).toBe(404);
    expect((await as('other', 'GET', `${path}/${uuid}`)).status).toBe(200);
  }
});

test('a lessee does not see how the BMC is reached, the owner does', async () => {
  const seen = async (who: Who) => (await as(who, 'GET', '/v1/nodes/mine')).body['driver_info'];
  expect(await seen('owner reader')).toMatchObject({ redfish_address: 'https://bmc.example' });
  expect(await seen('lessee admin')).toEqual({
    content: '** Redacted - Requires baremetal:node:get:driver_info permission. **',
  });
  const { body } = await as('lessee reader', 'GET', '/v1/nodes?fields=name,driver_info,last_error');
  expect(JSON.stringify(body)).not.toContain('bmc.example');
});

test('drivers, conductors and deploy templates are for those without a project', async () => {
  for (const path of ['/v1/drivers', '/v1/conductors', '/v1/deploy_templates', '/v1/chassis', '/v1/shards']) {
    expect([path, (await as('reader', 'GET', path)).status]).toEqual([path, 200]);
    expect([path, (await as('owner admin', 'GET', path)).status]).toEqual([path, 403]);
  }
});

describe('tokens', () => {
  test('are made, listed and deleted by administrators alone', async () => {
    const made = await as('admin', 'POST', '/v1/tokens', { name: 'ci', role: 'reader', project: 'ours' });
    expect(made).toMatchObject({ status: 201, body: { name: 'ci', created_by: 'admin', project: 'ours' } });
    const token = String(made.body['token']);
    const ask = () => api.call('GET', '/v1/nodes', undefined, '1.96', { 'X-Auth-Token': token });
    expect((await ask()).body['nodes']).toHaveLength(1);
    const { body } = await as('admin', 'GET', '/v1/tokens');
    expect(JSON.stringify(body)).not.toContain(token);
    expect((await as('admin', 'DELETE', '/v1/tokens/ci')).status).toBe(204);
    expect((await ask()).status).toBe(401);
    expect((await as('admin', 'DELETE', '/v1/tokens/ci')).status).toBe(404);
    for (const who of ['member', 'owner admin'] as const) {
      expect((await as(who, 'GET', '/v1/tokens')).status).toBe(403);
      expect((await as(who, 'POST', '/v1/tokens', { name: 'x', role: 'admin' })).status).toBe(403);
    }
  });

  test('say what is wrong with a new one', async () => {
    expect((await as('admin', 'POST', '/v1/tokens', { name: 'x', role: 'root' })).fault).toContain('role');
    const past = { name: 'x', role: 'reader', expires_at: '2020-01-01T00:00:00Z' };
    expect((await as('admin', 'POST', '/v1/tokens', past)).fault).toBe('expires_at must lie in the future');
    expect(await as('admin', 'POST', '/v1/tokens', { name: 'admin', role: 'reader' })).toMatchObject({ status: 409 });
  });
});

describe('strangers', () => {
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
    const known = await api.call('GET', `/v1/lookup?addresses=${mac}`);
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
    expect((await ask('/v1/nodes', { Authorization: `Bearer ${tokens.get('reader')}` })).status).toBe(200);
    const lookups = [];
    for (let i = 0; i < 6; i += 1) lookups.push((await ask('/v1/lookup?addresses=52:54:00:00:00:77')).status);
    expect(lookups).toEqual([404, 404, 404, 404, 429, 429]);
  });
});

test('pages of other sites are not served', async () => {
  const from = (Origin: string, more = {}) =>
    api.call('GET', '/v1/nodes', undefined, '1.96', {
      Authorization: `Bearer ${tokens.get('admin')}`,
      Origin,
      ...more,
    });
  expect(await from('https://evil.example')).toMatchObject({ status: 403 });
  // a name that was made to lead here
  expect(await from('http://evil.example', { Host: 'evil.example' })).toMatchObject({ status: 403 });
  expect(await from('http://127.0.0.1:6385', { Host: '127.0.0.1:6385' })).toMatchObject({ status: 200 });
});

test('a project enrols nodes of its own alone', async () => {
  const node = { driver: 'fake-hardware' };
  expect((await as('owner admin', 'POST', '/v1/nodes', node)).body['owner']).toBe('ours');
  expect((await as('owner admin', 'POST', '/v1/nodes', { ...node, owner: 'other' })).status).toBe(403);
  expect((await as('owner member', 'POST', '/v1/nodes', node)).status).toBe(403);
  expect((await as('member', 'POST', '/v1/nodes', node)).status).toBe(403);
  expect((await as('admin', 'POST', '/v1/nodes', { ...node, owner: 'other' })).body['owner']).toBe('other');
});

test('a project’s administrator writes into a new node no more than into one of its own', async () => {
  const enrol = (fields: Record<string, unknown>, version?: string) =>
    as('owner admin', 'POST', '/v1/nodes', { driver: 'fake-hardware', ...fields }, version);
  for (const [field, value] of Object.entries({
    shard: 's',
    lessee: 'lessee',
    conductor_group: 'g',
    chassis_uuid: '00000000-0000-4000-8000-000000000001',
  })) {
    const refused = await enrol({ [field]: value });
    expect([refused.status, refused.fault]).toEqual([403, expect.stringContaining(`baremetal:node:create:${field} `)]);
  }
  expect(await enrol({ extra: { a: 1 }, resource_class: 'c', owner: 'ours' })).toMatchObject({ status: 201 });
  // clients as old as this would have it available at once
  expect((await enrol({}, '1.5')).body['provision_state']).toBe('enroll');
  const { body } = await as('owner admin', 'GET', '/v1/nodes?fields=provision_state');
  expect(JSON.stringify(body)).not.toContain('available');
});

test('whoever may not enrol nodes, nor log in, is told so before a byte of the body is read', async () => {
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
  const member = { Authorization: `Bearer ${tokens.get('member')}` };
  const { status, read } = await send('/v1/x/states/provision', member, 10_000_000);
  expect([status, read < 2_000_000]).toEqual([413, true]);
  expect((await send('/v1/nodes', member, 10_000_000)).status).toBe(413);
});

test('no list is measured by what is some other project’s', async () => {
  const [node] = (await as('admin', 'GET', '/v1/nodes?owner=other')).body['nodes'] as { uuid: string }[];
  const idOf = async (path: string, key: string): Promise<string> =>
    ((await as('other', 'GET', path)).body[key] as { uuid: string }[])[0]?.uuid ?? '';
  const missing = '00000000-0000-4000-8000-000000000001';
  for (const [path, marker] of [
    ['/v1/nodes', node?.uuid ?? ''],
    ['/v1/nodes/detail', node?.uuid ?? ''],
    ['/v1/ports', await idOf('/v1/ports', 'ports')],
    ['/v1/nodes/mine/ports', await idOf('/v1/ports', 'ports')],
    ['/v1/portgroups', await idOf('/v1/portgroups', 'portgroups')],
    ['/v1/volume/connectors', await idOf('/v1/volume/connectors', 'connectors')],
    ['/v1/volume/targets', await idOf('/v1/volume/targets', 'targets')],
  ] as const) {
    const hidden = await as('owner reader', 'GET', `${path}?marker=${marker}`);
    const unknown = await as('owner reader', 'GET', `${path}?marker=${missing}`);
    expect([path, hidden.status, hidden.fault]).toEqual([path, 404, unknown.fault?.replace(missing, marker)]);
    expect([path, (await as('reader', 'GET', `${path}?marker=${marker}`)).status]).toEqual([path, 200]);
  }
  const [group, none] = [
    await as('owner reader', 'GET', '/v1/ports?portgroup=foreign-group'),
    await as('owner reader', 'GET', '/v1/ports?portgroup=none'),
  ];
  expect([group.status, group.fault]).toEqual([404, none.fault?.replace('none', 'foreign-group')]);
  expect((await as('lessee reader', 'GET', '/v1/nodes?sort_key=last_error')).status).toBe(400);
});

test('a lessee does not see what went wrong, wherever it stands', async () => {
  const { uuid } = await as('admin', 'GET', '/v1/nodes/mine');
  await api.context.db.execute(sql`update nodes set last_error = 'BMC 192.0.2.9 refused' where uuid = ${uuid}`);
  for (const path of ['/v1/nodes/mine/states', '/v1/nodes/mine', '/v1/nodes?fields=last_error,conductor']) {
    const shown = JSON.stringify((await as('lessee admin', 'GET', path)).body);
    expect([path, shown.includes('192.0.2.9'), shown.includes('Redacted')]).toEqual([path, false, true]);
    expect(JSON.stringify((await as('owner reader', 'GET', path)).body)).toContain('192.0.2.9');
  }
});
