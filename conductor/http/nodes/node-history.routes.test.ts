import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'other' });
  await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' });
  for (const reason of ['c', 'a', 'b']) await api.call('PUT', '/v1/nodes/n1/maintenance', { reason });
});
afterAll(() => api.close());

const all = ['created in enroll', 'maintenance on: c', 'maintenance on: a', 'maintenance on: b'];

async function list(query: string) {
  const { body, fault, status } = await api.call('GET', `/v1/nodes/n1/history${query}`);
  const entries = (body['history'] ?? []) as { event: string; uuid: string }[];
  return { events: entries.map(({ event }) => event), last: entries.at(-1)?.uuid, next: body['next'], fault, status };
}

test('oldest first; a page that is full names the next, which keeps the query', async () => {
  expect(await list('')).toMatchObject({ events: all, next: undefined });
  const first = await list('?limit=2&detail=true');
  expect(first.events).toEqual(all.slice(0, 2));
  const next = new URL(String(first.next));
  expect(Object.fromEntries(next.searchParams)).toEqual({ limit: '2', detail: 'true', marker: first.last });
  expect((await list(next.search)).events).toEqual(all.slice(2));
  expect((await list(`?marker=${(await list('')).last}`)).events).toEqual([]);
});

test('sorted by each of its fields, in both directions', async () => {
  expect((await list('?sort_dir=desc')).events).toEqual(all.toReversed());
  expect((await list('?sort_key=created_at&sort_dir=desc&limit=1')).events).toEqual(all.slice(-1));
  expect((await list('?sort_key=event')).events).toEqual(all.toSorted());
  const second = await list('?sort_key=event&limit=2');
  expect((await list(`?sort_key=event&limit=2&marker=${second.last}`)).events).toEqual(all.toSorted().slice(2));
  for (const key of ['id', 'uuid', 'severity', 'event_type', 'conductor', 'user', 'project']) {
    expect((await list(`?sort_key=${key}`)).events).toHaveLength(all.length);
  }
});

test.each([
  ['?limit=0', 400, 'Limit must be positive'],
  ['?limit=x', 400, "limit: 'x' is not an integer"],
  ['?marker=first', 400, 'Expected UUID for marker'],
  ['?marker=11111111-1111-4111-8111-111111111111', 404, 'could not be found'],
  ['?sort_key=links', 400, 'The sort_key value links is an invalid field for sorting'],
  ['?sort_dir=up', 400, 'sort_dir'],
  ['?fields=event', 400, 'Unexpected arguments: fields'],
])('%s: %i', async (query, status, fault) => {
  expect(await list(query)).toMatchObject({ status, fault: expect.stringContaining(fault) as unknown });
});

test("another node's entry is none of this one's", async () => {
  const { body } = await api.call('GET', '/v1/nodes/other/history');
  const uuid = (body['history'] as { uuid: string }[])[0]?.uuid ?? '';
  expect((await list(`?marker=${uuid}`)).status).toBe(404);
  expect((await api.call('GET', `/v1/nodes/n1/history/${uuid}`)).status).toBe(404);
  expect((await api.call('GET', `/v1/nodes/other/history/${uuid}`)).body).toMatchObject({ event: all[0] });
  expect((await api.call('GET', '/v1/nodes/n1/history/first')).status).toBe(404);
});

test.each([
  ['vifs of the noop interface', 'POST', 'vifs', { id: 'nowhere' }],
  ['a vif that it does not keep', 'DELETE', 'vifs/nowhere', undefined],
  ['the same traits', 'PUT', 'traits', { traits: ['CUSTOM_A'] }],
  ['a trait that is there', 'PUT', 'traits/CUSTOM_A', undefined],
  ['a maintenance that is on', 'PUT', 'maintenance', { reason: 'b' }],
  ['the same RAID', 'PUT', 'states/raid', {}],
  ['a patch with what it has', 'PATCH', '', [{ op: 'replace', path: '/name', value: 'n1' }]],
  ['a patch of nothing', 'PATCH', '', []],
])('%s: nothing has changed, and nothing is told', async (_what, method, path, body) => {
  await api.call('PATCH', '/v1/nodes/n1', [{ op: 'replace', path: '/network_interface', value: 'noop' }]);
  await api.call('PUT', '/v1/nodes/n1/traits', { traits: ['CUSTOM_A'] });
  const before = await list('');
  const { status } = await api.call(method, `/v1/nodes/n1/${path}`.replace(/\/$/, ''), body);
  expect(status).toBeLessThan(300);
  expect((await list('')).events).toEqual(before.events);
});

test('a port that is patched with what it has is not told either; what changes is', async () => {
  const { body } = await api.call('GET', '/v1/nodes/n1');
  const port = await api.call('POST', '/v1/ports', { node_uuid: body['uuid'], address: '52:54:00:00:00:99' });
  const patch = (value: boolean) =>
    api.call('PATCH', `/v1/ports/${port.uuid}`, [{ op: 'replace', path: '/pxe_enabled', value }]);
  const before = (await list('')).events.length;
  expect((await patch(true)).status).toBe(200);
  expect((await list('')).events).toHaveLength(before);
  await patch(false);
  expect((await list('')).events.slice(before)).toEqual(['port 52:54:00:00:00:99: changed /pxe_enabled']);
});

test("an entry's project is there since 1.113, in detail", async () => {
  const path = '/v1/nodes/n1/history';
  const first = async (query: string, version: string) => {
    const { body } = await api.call('GET', `${path}${query}`, undefined, version);
    return (body['history'] as Record<string, unknown>[])[0] ?? {};
  };
  const { uuid } = await first('', '1.113');
  expect(await first('?detail=true', '1.113')).toMatchObject({ project: null });
  expect((await api.call('GET', `${path}/${String(uuid)}`, undefined, '1.113')).body).toMatchObject({ project: null });
  for (const entry of [
    await first('', '1.113'),
    await first('?detail=true', '1.112'),
    (await api.call('GET', `${path}/${String(uuid)}`, undefined, '1.112')).body,
  ])
    expect(entry).not.toHaveProperty('project');
});

test('an entry has the states of its node, and the time in them, since 1.115', async () => {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n2' });
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  await api.context.db.execute(`update nodes set provision_updated_at = '${hourAgo}' where uuid = '${uuid}'`);
  await api.call('PUT', '/v1/nodes/n2/maintenance', { reason: 'late' });
  await api.call('DELETE', '/v1/nodes/n2/maintenance');
  await api.call('PUT', '/v1/nodes/n2/states/provision', { target: 'manage' });
  const history = async (version: string, query = '?detail=true') =>
    (await api.call('GET', `/v1/nodes/n2/history${query}`, undefined, version)).body['history'] as Record<
      string,
      unknown
    >[];
  const entries = await history('1.115');
  expect(entries.map(({ event, state, target_provision_state: target }) => [event, state, target])).toEqual([
    ['created in enroll', 'enroll', null],
    ['maintenance on: late', 'enroll', null],
    ['maintenance off', 'enroll', null],
    ['enroll → verifying', 'verifying', 'manageable'],
  ]);
  const [created, ...later] = entries.map(({ duration_seconds: seconds }) => Number(seconds));
  expect(created).toBeLessThan(3600);
  // the move has the time in the state that it has left
  for (const seconds of later) expect(seconds).toBeGreaterThanOrEqual(3599);
  const one = (await api.call('GET', `/v1/nodes/n2/history/${String(entries[3]?.['uuid'])}`, undefined, '1.115')).body;
  expect(one).toMatchObject({ state: 'verifying', target_provision_state: 'manageable' });
  for (const [entry] of [await history('1.114'), await history('1.115', '')])
    expect(Object.keys(entry ?? {})).not.toEqual(expect.arrayContaining(['state']));
});
