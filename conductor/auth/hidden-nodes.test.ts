import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiWithCallers, openApiWithCallers, type Who } from '#test/support/api-with-callers.ts';
import type { TestApi } from '#test/support/test-api.ts';

/** Projects see nothing of each other's nodes, and lessees see those that they have leased. */

let api: TestApi;
let as: ApiWithCallers['as'];
beforeAll(async () => {
  ({ api, as } = await openApiWithCallers());
});
afterAll(() => api.close());

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

test('flows are the owner’s, the fleet is what one sees', async () => {
  const { db } = api.context;
  await db.execute(sql`
    insert into flows (uuid, node_uuid, kind, state)
    select gen_random_uuid(), uuid, 'deploy', 'running' from nodes where name in ('mine', 'foreign')`);
  const seen = async (who: Who) => {
    const { body } = await as(who, 'GET', '/v1/flows');
    return ((body['flows'] ?? []) as { node_name: string }[]).map(({ node_name: name }) => name).sort();
  };
  expect(await seen('reader')).toEqual(['foreign', 'mine']);
  expect(await seen('owner reader')).toEqual(['mine']);
  expect((await as('lessee reader', 'GET', '/v1/flows')).body['flows']).toEqual([]);
  expect((await as('reader', 'GET', '/v1/fleet')).body['nodes']).toBe(2);
  for (const who of ['owner reader', 'lessee reader'] as const) {
    expect((await as(who, 'GET', '/v1/fleet')).body['nodes']).toBe(1);
  }
  await db.execute(sql`delete from flows`);
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
