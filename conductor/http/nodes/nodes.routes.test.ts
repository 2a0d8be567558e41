import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nodeLeases } from '#conductor/kernel/db/schema/node.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { createNode } from '#test/support/create-node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const create = (more?: Record<string, unknown>) => createNode(api, more);

describe('create', () => {
  test('answers the whole node as Ironic does', async () => {
    const { status, headers, body, uuid } = await api.call('POST', '/v1/nodes', {
      driver: 'fake-hardware',
      name: 'n1',
      properties: { cpu_arch: 'x86_64' },
      driver_info: { redfish_password: 'sec', fake_id: 'a' },
      resource_class: 'bm',
      boot_interface: 'ipxe',
      network_interface: 'flat',
    });
    expect(status).toBe(201);
    expect(headers.get('Location')).toBe(`http://api.example/v1/nodes/${uuid}`);
    expect(body).toMatchObject({
      name: 'n1',
      provision_state: 'enroll',
      power_state: null,
      driver_info: { redfish_password: '******', fake_id: 'a' },
      network_interface: 'flat',
      deploy_interface: 'fake',
      power_interface: 'fake',
      conductor: 'test-host',
      conductor_group: '',
      automated_clean: null,
      clean_step: {},
      traits: [],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/) as unknown,
    });
    expect(body['links']).toEqual([
      { href: `http://api.example/v1/nodes/${uuid}`, rel: 'self' },
      { href: `http://api.example/nodes/${uuid}`, rel: 'bookmark' },
    ]);
  });

  test('before 1.11 starts in available', async () => {
    const { body } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' }, '1.10');
    expect(body).toMatchObject({ provision_state: 'available' });
    expect(body).not.toHaveProperty('resource_class');
  });

  test.each([
    [{}, 400, "'driver' is a required property"],
    [{ driver: 'nope' }, 400, 'supports driver nope'],
    [{ driver: 'fake-hardware', foo: 1 }, 400, 'Unexpected arguments: foo'],
    [{ driver: 'fake-hardware', name: 'bad name!' }, 400, "invalid name 'bad name!'"],
    [{ driver: 'fake-hardware', name: 'maintenance' }, 400, 'reserved'],
    [{ driver: 'fake-hardware', properties: 'x' }, 400, 'properties: must be a JSON object'],
    [{ driver: 'fake-hardware', boot_interface: 'redfish-virtual-media' }, 400, 'it must be fake, ipxe, pxe'],
    [{ driver: 'fake-hardware', uuid: 'x' }, 400, 'uuid: must be a UUID'],
    [{ driver: 'fake-hardware', instance_name: 'x' }, 406, "field 'instance_name' needs API version 1.104"],
  ])('refuses %j', async (body, status, fault) => {
    expect(await api.call('POST', '/v1/nodes', body)).toMatchObject({
      status,
      fault: expect.stringContaining(fault) as unknown,
    });
  });

  test('refuses a field newer than the version, and duplicates', async () => {
    const named = { driver: 'fake-hardware', name: 'n1', uuid: '8c1bf632-bcdf-4be1-a799-94f7a1e730ac' };
    expect((await api.call('POST', '/v1/nodes', named, '1.1')).status).toBe(406);
    await create(named);
    expect(await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).toMatchObject({
      status: 409,
      fault: 'A node with name n1 already exists.',
    });
    expect((await api.call('POST', '/v1/nodes', { ...named, name: 'n2' })).fault).toBe(
      'A node with UUID 8c1bf632-bcdf-4be1-a799-94f7a1e730ac already exists.',
    );
  });
});

describe('list', () => {
  const names = async (query: string): Promise<unknown> => {
    const { body, fault } = await api.call('GET', `/v1/nodes?fields=name${query}`);
    return fault ?? (body['nodes'] as { name: string }[]).map((node) => node.name);
  };

  test('shows the short form by default, with links', async () => {
    const uuid = await create({ name: 'a' });
    expect((await api.call('GET', '/v1/nodes')).body).toEqual({
      nodes: [
        {
          uuid,
          name: 'a',
          instance_uuid: null,
          maintenance: false,
          power_state: null,
          provision_state: 'enroll',
          links: expect.any(Array) as unknown,
        },
      ],
    });
  });

  test('filters', async () => {
    await create({ name: 'a', resource_class: 'bm', owner: 'o', description: 'left 50% rack', shard: 's1' });
    await create({ name: 'b', lessee: 'o', instance_uuid: '11111111-1111-4111-8111-111111111111' });
    await api.call('PUT', '/v1/nodes/b/maintenance', { reason: 'r' });
    expect(await names('')).toEqual(['a', 'b']);
    expect(await names('&resource_class=bm')).toEqual(['a']);
    expect(await names('&associated=True')).toEqual(['b']);
    expect(await names('&associated=false')).toEqual(['a']);
    expect(await names('&maintenance=true')).toEqual(['b']);
    expect(await names('&project=o')).toEqual(['a', 'b']);
    expect(await names('&lessee=o')).toEqual(['b']);
    expect(await names('&description_contains=50%25')).toEqual(['a']);
    expect(await names('&description_contains=5_%25')).toEqual([]);
    expect(await names('&shard=s1,s2')).toEqual(['a']);
    expect(await names('&sharded=false')).toEqual(['b']);
    expect(await names('&provision_state=enroll&driver=fake-hardware')).toEqual(['a', 'b']);
    expect(await names('&conductor=test-host')).toEqual(['a', 'b']);
    expect(await names('&conductor=other')).toEqual([]);
    expect(await names('&instance_uuid=11111111-1111-4111-8111-111111111111')).toEqual(['b']);
    expect(await names('&chassis_uuid=x')).toContain('must be a UUID');
  });

  test('pages with marker and next in any order', async () => {
    for (const name of ['b', 'c', 'a']) await create({ name });
    expect(await names('&sort_key=name')).toEqual(['a', 'b', 'c']);
    expect(await names('&sort_key=name&sort_dir=desc')).toEqual(['c', 'b', 'a']);
    const seen: unknown[] = [];
    let next: unknown = '/v1/nodes?fields=uuid,name&sort_key=name&sort_dir=desc&limit=1';
    while (typeof next === 'string') {
      const { body } = await api.call('GET', next.replace('http://api.example', ''));
      seen.push(...(body['nodes'] as { name: string }[]).map((node) => node.name));
      next = body['next'];
    }
    expect(seen).toEqual(['c', 'b', 'a']);
  });

  test('sorts by who holds a node; a lease that has run out is nobody’s', async () => {
    const { db } = api.context;
    const held: Readonly<Record<string, readonly [holder: string, expiresAt: Date]>> = {
      a: ['host-2', new Date(Date.now() + 3_600_000)],
      b: ['host-0', new Date(0)],
      c: ['host-1', new Date(Date.now() + 3_600_000)],
    };
    for (const [name, [holder, expiresAt]] of Object.entries(held)) {
      const nodeUuid = await create({ name });
      await db.insert(nodeLeases).values({ nodeUuid, holder, token: 1, expiresAt });
    }
    expect(await names('&sort_key=reservation')).toEqual(['b', 'c', 'a']);
    expect(await names('&sort_key=reservation&sort_dir=desc')).toEqual(['a', 'c', 'b']);
    const { body } = await api.call('GET', '/v1/nodes?fields=name,reservation&sort_key=reservation&limit=2');
    expect(body['nodes']).toMatchObject([{ name: 'b', reservation: null }, { reservation: 'host-1' }]);
    const next = await api.call('GET', String(body['next']).replace('http://api.example', ''));
    expect(next.body['nodes']).toMatchObject([{ name: 'a', reservation: 'host-2' }]);
  });

  test.each([
    ['bogus=1', 400, 'Unexpected arguments: bogus'],
    ['provision_state=weird', 400, 'Provision state "weird" is not valid'],
    ['limit=0', 400, 'Limit must be positive'],
    ['marker=zzz', 400, 'Expected UUID for marker: zzz'],
    ['marker=11111111-1111-4111-8111-111111111111', 404, 'could not be found'],
    ['sort_key=properties', 400, 'The sort_key value properties is an invalid field for sorting'],
    ['sort_key=foo', 400, 'foo is an invalid field for sorting; lists are sorted by one of '],
    ['fields=bogus', 400, "a node has no field 'bogus'"],
    ['fields=instance_name', 406, "field 'instance_name'"],
    ['detail=true&fields=uuid', 400, 'Can not specify ?detail=True and fields'],
  ])('refuses ?%s', async (query, status, fault) => {
    expect(await api.call('GET', `/v1/nodes?${query}`)).toMatchObject({
      status,
      fault: expect.stringContaining(fault) as unknown,
    });
  });

  test('gives details when asked, in the version’s fields', async () => {
    await create({ name: 'a' });
    const detail = (await api.call('GET', '/v1/nodes?detail=true')).body['nodes'] as object[];
    expect(detail[0]).toMatchObject({ name: 'a', driver: 'fake-hardware', traits: [] });
    const old = (await api.call('GET', '/v1/nodes/detail', undefined, '1.36')).body['nodes'] as object[];
    expect(old[0]).not.toHaveProperty('traits');
    expect((await api.call('GET', '/v1/nodes?detail=true', undefined, '1.42')).status).toBe(406);
  });
});

describe('delete', () => {
  test('forgets the node with its ports', async () => {
    const uuid = await create();
    await api.call('POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:01' });
    expect((await api.call('DELETE', `/v1/nodes/${uuid}`)).status).toBe(204);
    expect((await api.call('GET', '/v1/ports')).body).toEqual({ ports: [] });
    expect((await api.call('DELETE', `/v1/nodes/${uuid}`)).status).toBe(404);
  });

  test('is refused in the wrong state, with an instance, when protected, unless in maintenance', async () => {
    const uuid = await create({ instance_uuid: '11111111-1111-4111-8111-111111111111' });
    const remove = () => api.call('DELETE', `/v1/nodes/${uuid}`);
    expect(await remove()).toMatchObject({ status: 409, fault: expect.stringContaining('instance') as unknown });
    await api.call('PUT', `/v1/nodes/${uuid}/maintenance`, {});
    await updateNode(api.context.db, uuid, { protected: true, protectedReason: 'mine' });
    expect(await remove()).toMatchObject({ status: 403, fault: expect.stringContaining('mine') as unknown });
    await updateNode(api.context.db, uuid, { protected: false });
    expect((await remove()).status).toBe(204);
  });
});

test('before 1.91 a name may have .json behind it', async () => {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'suffixed' });
  const ask = (method: string, version: string, body?: unknown) =>
    api.call(method, `/v1/nodes/${uuid}.json`, body, version);
  expect((await ask('GET', '1.90')).body).toMatchObject({ uuid });
  expect((await ask('GET', '1.91')).status).toBe(404);
  const patch = [{ op: 'add', path: '/extra/a', value: 1 }];
  expect((await ask('PATCH', '1.90', patch)).body).toMatchObject({ extra: { a: 1 } });
  expect((await api.call('GET', '/v1/nodes/none.json', undefined, '1.90')).status).toBe(404);
  expect((await ask('DELETE', '1.90')).status).toBe(204);
  expect((await api.call('GET', `/v1/nodes/${uuid}`)).status).toBe(404);
});
