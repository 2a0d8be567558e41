import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertConductor } from '#conductor/kernel/conductors/conductor-store.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  // however long a test takes, who has not given a sign of life in it is alive
  api = await openTestApi({ settings: { BATON_CONDUCTOR_TIMEOUT: '3600' } });
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  await api.context.db.execute(sql`delete from conductors where hostname <> 'test-host'`);
  for (const [hostname, conductorGroup] of [
    ['other', ''],
    ['dead', ''],
    ['lefty', 'left'],
  ] as const) {
    await insertConductor(api.context.db, {
      hostname,
      conductorGroup,
      drivers: ['fake-hardware'],
      publicUrl: `http://${hostname}.example`,
    });
  }
  await api.context.db.execute(
    sql`update conductors set updated_at = now() - interval '1 hour' where hostname = 'dead'`,
  );
  await livingAre(3);
});

const livingAre = (count: number) =>
  waitUntil(
    `${count} living conductors`,
    async () => (await api.context.conductors.live()).length === count || undefined,
    {
      timeoutMs: 240_000,
      everyMs: 50,
    },
  );
const get = async (path: string) => (await api.call('GET', path)).body;
const create = (more: Record<string, unknown> = {}) =>
  api.call('POST', '/v1/nodes', { driver: 'fake-hardware', ...more });

test('the list has everybody who has ever registered, page by page', async () => {
  const names = async (query: string) => {
    const { conductors } = (await get(`/v1/conductors${query}`)) as { conductors: { hostname: string }[] };
    return conductors.map(({ hostname }) => hostname);
  };
  expect(await get('/v1/conductors')).toMatchObject({
    conductors: [
      { hostname: 'test-host', conductor_group: '', alive: true },
      { hostname: 'other', alive: true },
      { hostname: 'dead', alive: false },
      { hostname: 'lefty', conductor_group: 'left', alive: true },
    ],
  });
  expect((await get('/v1/conductors'))['conductors']).not.toContainEqual(
    expect.objectContaining({ drivers: expect.anything() }),
  );
  expect(await names('?sort_key=hostname&sort_dir=desc')).toEqual(['test-host', 'other', 'lefty', 'dead']);
  expect(await get('/v1/conductors?limit=2')).toMatchObject({
    next: 'http://api.example/v1/conductors?limit=2&marker=other',
  });
  expect(await names('?limit=2&marker=other')).toEqual(['dead', 'lefty']);
  expect((await get('/v1/conductors?fields=alive'))['conductors']).toContainEqual({
    alive: false,
    links: expect.anything(),
  });
  expect(await get('/v1/conductors?detail=true')).toMatchObject({
    conductors: [{ drivers: expect.arrayContaining(['redfish']), created_at: expect.any(String) }, {}, {}, {}],
  });
});

test('one is shown by its name', async () => {
  expect(await get('/v1/conductors/lefty')).toMatchObject({
    hostname: 'lefty',
    conductor_group: 'left',
    alive: true,
    drivers: ['fake-hardware'],
    links: [{ rel: 'self' }, { rel: 'bookmark' }],
  });
  expect(await api.call('GET', '/v1/conductors/nobody')).toMatchObject({
    status: 404,
    fault: 'Conductor nobody could not be found.',
  });
  expect((await api.call('GET', '/v1/conductors?marker=nobody')).status).toBe(404);
  expect((await api.call('GET', '/v1/conductors?sort_key=alive')).status).toBe(400);
  expect((await api.call('GET', '/v1/conductors', undefined, '1.48')).status).toBe(404);
});

test('drivers tell the living hosts that have them', async () => {
  expect(await get('/v1/drivers/fake-hardware')).toMatchObject({ hosts: ['test-host', 'other', 'lefty'] });
  expect(await get('/v1/drivers/ipmi')).toMatchObject({ hosts: ['test-host'] });
});

test("a node's conductor is the one that works on it, or the one named for it; lists filter by it", async () => {
  // Given UUIDs: of twelve random ones, one run in 2,048 has them all with one conductor.
  const uuids = Array.from({ length: 12 }, (_, index) => `00000000-0000-4000-8000-${`${index}`.padStart(12, '0')}`);
  for (const uuid of uuids) expect(await create({ uuid })).toMatchObject({ status: 201 });
  const left = (await create({ conductor_group: 'LEFT' })).uuid;
  const conductorOf = async (uuid: string) => (await get(`/v1/nodes/${uuid}?fields=conductor`))['conductor'];
  const named = await Promise.all(uuids.map(conductorOf));
  expect(new Set(named)).toEqual(new Set(['test-host', 'other']));
  expect(await conductorOf(left)).toBe('lefty');

  const listed = async (conductor: string) => {
    const { nodes } = (await get(`/v1/nodes?conductor=${conductor}&fields=uuid`)) as { nodes: { uuid: string }[] };
    return nodes.map(({ uuid }) => uuid);
  };
  expect(await listed('other')).toEqual(uuids.filter((_, index) => named[index] === 'other'));
  expect(await listed('lefty')).toEqual([left]);
  expect(await listed('dead')).toEqual([]);
  await claimLease(api.context.db, left, { holder: 'test-host', leaseMs: 60_000 });
  expect(await conductorOf(left)).toBe('test-host');
  expect(await listed('lefty')).toEqual([]);
  expect(await listed('test-host')).toContain(left);
});

test('what nobody could work on is refused in words', async () => {
  expect(await create({ conductor_group: 'right' })).toMatchObject({
    status: 400,
    fault: expect.stringContaining(
      'No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "right".',
    ),
  });
  const { uuid } = await create({ conductor_group: 'left' });
  const move = [{ op: 'replace', path: '/conductor_group', value: 'right' }];
  expect(await api.call('PATCH', `/v1/nodes/${uuid}`, move)).toMatchObject({
    status: 400,
    fault: expect.stringContaining('"right"'),
  });
  await api.call('PUT', `/v1/nodes/${uuid}/states/provision`, { target: 'manage' });
  expect(await get(`/v1/nodes/${uuid}/flow`)).toMatchObject({ held: null });

  await api.context.db.execute(sql`update conductors set stopped_at = now() where hostname = 'lefty'`);
  await livingAre(2);
  const refused = { status: 503, fault: expect.stringContaining('No valid host was found') };
  expect(await api.call('PUT', `/v1/nodes/${uuid}/states/power`, { target: 'power on' })).toMatchObject(refused);
  const other = await create();
  await api.context.db.execute(sql`update nodes set conductor_group = 'left'`);
  const manage = { target: 'manage' };
  expect(await api.call('PUT', `/v1/nodes/${other.uuid}/states/provision`, manage)).toMatchObject(refused);
  expect(await get(`/v1/nodes/${uuid}/flow`)).toMatchObject({
    held: 'no conductor of group "left" that knows driver fake-hardware is alive (GET /v1/conductors)',
    advice: expect.stringContaining('BATON_CONDUCTOR_GROUP'),
  });
});
