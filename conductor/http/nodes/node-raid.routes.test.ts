import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
});
afterAll(() => api.close());

const put = (body: unknown, version?: string) => api.call('PUT', '/v1/nodes/n1/states/raid', body, version);
const mirror = {
  logical_disks: [{ size_gb: 'MAX', raid_level: '1', controller: 'software', is_root_volume: true }],
};
const containing = (text: string) => expect.stringContaining(text) as unknown;

test('the target is kept, shown and cleared', async () => {
  expect(await put(mirror)).toMatchObject({ status: 204, body: {} });
  expect((await api.call('GET', '/v1/nodes/n1')).body).toMatchObject({ target_raid_config: mirror, raid_config: {} });
  expect((await api.call('GET', '/v1/nodes/n1/states')).body).toMatchObject({ target_raid_config: mirror });
  expect((await api.call('GET', '/v1/nodes/n1', undefined, '1.11')).body).not.toHaveProperty('target_raid_config');
  expect((await put({})).status).toBe(204);
  expect((await api.call('GET', '/v1/nodes/n1')).body).toMatchObject({ target_raid_config: {} });
});

test('what can not be built is refused, naming the field', async () => {
  const disk = mirror.logical_disks[0];
  expect(await put({ logical_disks: [{ ...disk, raid_level: '7' }] })).toMatchObject({
    status: 400,
    fault: containing('logical_disks[0].raid_level must be one of'),
  });
  expect(await put({ logical_disks: [] })).toMatchObject({
    status: 400,
    fault: containing('at least one logical disk'),
  });
  expect(await put({ logical_disks: [{ ...disk, bogus: 1 }] })).toMatchObject({
    status: 400,
    fault: containing('bogus'),
  });
  expect((await put([])).status).toBe(400);
  expect((await put(mirror, '1.11')).status).toBe(406);
  expect((await api.call('PUT', '/v1/nodes/none/states/raid', {})).status).toBe(404);
});

test('refused while a flow may read it, and while a conductor works on the node', async () => {
  const { db } = api.context;
  await db
    .update(nodes)
    .set({ provisionState: 'cleaning', targetProvisionState: 'available' })
    .where(eq(nodes.uuid, uuid));
  expect(await put(mirror)).toMatchObject({ status: 409, fault: containing('transition is in progress') });
  await db.update(nodes).set({ provisionState: 'clean failed' }).where(eq(nodes.uuid, uuid));
  expect((await put(mirror)).status).toBe(204);
  const lease = await claimLease(db, uuid, { holder: 'busy', leaseMs: 60_000 });
  expect(await put({})).toMatchObject({ status: 409, fault: containing('locked by host busy') });
  if (lease) await releaseLease(db, lease);
});

test('a driver explains the keys', async () => {
  const path = '/v1/drivers/fake-hardware/raid/logical_disk_properties';
  expect((await api.call('GET', path)).body).toMatchObject({ size_gb: containing('Required') });
  expect((await api.call('GET', path.replace('fake-hardware', 'nope'))).status).toBe(404);
});
