import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { getRow } from '#conductor/nodes/resources/resource-store.ts';
import { findBootVolume, openTarget, targetResource } from '#conductor/nodes/resources/volume.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let api: TestApi;
let nodeUuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  nodeUuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
});
afterAll(() => api.close());

const connector = (more: Record<string, unknown> = {}) =>
  api.call('POST', '/v1/volume/connectors', {
    node_uuid: nodeUuid,
    type: 'iqn',
    connector_id: 'iqn.2026-11.a:1',
    ...more,
  });
const target = (more: Record<string, unknown> = {}) =>
  api.call('POST', '/v1/volume/targets', {
    node_uuid: nodeUuid,
    volume_type: 'iscsi',
    volume_id: 'v1',
    boot_index: 0,
    ...more,
  });
const containing = (text: string) => expect.stringContaining(text) as unknown;
const other = '11111111-1111-4111-8111-111111111111';

test('a connector is made, shown, changed, deleted', async () => {
  const { status, headers, body, uuid } = await connector({ extra: { a: 1 } });
  expect(status).toBe(201);
  expect(headers.get('Location')).toBe(`http://api.example/v1/volume/connectors/${uuid}`);
  expect(body).toMatchObject({ node_uuid: nodeUuid, type: 'iqn', connector_id: 'iqn.2026-11.a:1', extra: { a: 1 } });
  const path = `/v1/volume/connectors/${uuid}`;
  expect(await connector()).toMatchObject({
    status: 409,
    fault: containing('type iqn and connector ID iqn.2026-11.a:1'),
  });
  expect(await connector({ uuid, connector_id: 'x' })).toMatchObject({ status: 409, fault: containing(uuid) });
  expect(await connector({ type: 'wwid' })).toMatchObject({
    status: 400,
    fault: containing('type: must be one of iqn'),
  });
  expect(await connector({ node_uuid: other })).toMatchObject({ status: 400, fault: containing(`Node ${other}`) });
  expect(
    await api.call('PATCH', path, [{ op: 'replace', path: '/connector_id', value: 'iqn.2026-11.a:2' }]),
  ).toMatchObject({ status: 200, body: { connector_id: 'iqn.2026-11.a:2', updated_at: containing('+00:00') } });
  expect((await api.call('PATCH', path, [{ op: 'remove', path: '/type' }])).status).toBe(400);
  await connector();
  expect(
    await api.call('PATCH', path, [{ op: 'replace', path: '/connector_id', value: 'iqn.2026-11.a:1' }]),
  ).toMatchObject({ status: 409, fault: containing('type iqn and connector ID iqn.2026-11.a:1') });
  expect((await api.call('DELETE', path)).status).toBe(204);
  expect(await api.call('GET', path)).toMatchObject({ fault: `Volume connector ${uuid} could not be found.` });
  expect((await api.call('GET', '/v1/volume/connectors/n1')).fault).toContain('Expected UUID');
});

test("a target's secrets are masked, and kept when the mask is written back", async () => {
  const secrets = { auth_username: 'u', auth_password: 'p', target_portal: '10.0.0.1:3260' };
  const { uuid, body } = await target({ properties: secrets });
  expect(body['properties']).toEqual({ ...secrets, auth_password: '******' });
  const patch = (operations: unknown) => api.call('PATCH', `/v1/volume/targets/${uuid}`, operations);
  await patch([
    { op: 'replace', path: '/properties', value: { ...secrets, auth_password: '******', auth_username: 'v' } },
  ]);
  const row = await getRow(api.context.db, targetResource, uuid);
  expect(JSON.stringify(row)).not.toContain('"p"');
  expect(openTarget(testSecrets, row).properties).toEqual({ ...secrets, auth_username: 'v' });
  const list = await api.call('GET', '/v1/volume/targets?detail=true');
  expect(JSON.stringify(list.body)).not.toContain('"p"');
});

test('a boot index is one of its node; index 0 is what the node boots from', async () => {
  const { uuid } = await target();
  expect(await target({ volume_id: 'v2' })).toMatchObject({
    status: 409,
    fault: "A volume target with boot index '0' for the same node already exists.",
  });
  expect((await target({ volume_id: 'v2', boot_index: 1 })).status).toBe(201);
  expect(await target({ boot_index: 1.5 })).toMatchObject({ status: 400, fault: containing('boot_index') });
  expect((await findBootVolume(api.context.db, nodeUuid))?.uuid).toBe(uuid);
  expect(await findBootVolume(api.context.db, other)).toBeUndefined();
  const second = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n2' })).uuid;
  expect((await target({ node_uuid: second })).status).toBe(201);
});

test('lists go by node, below the node too, and choose fields', async () => {
  await target();
  await target({ boot_index: 1, volume_id: 'v2' });
  const ids = async (path: string) => {
    const { body, fault } = await api.call('GET', path);
    return fault ?? (body['targets'] as { volume_id: string }[]).map((each) => each.volume_id);
  };
  expect(await ids('/v1/volume/targets?node=n1')).toEqual(['v1', 'v2']);
  expect(await ids('/v1/nodes/n1/volume/targets?sort_key=boot_index&sort_dir=desc')).toEqual(['v2', 'v1']);
  expect(await ids('/v1/volume/targets?node=none')).toContain('could not be found');
  const page = await api.call('GET', '/v1/volume/targets?limit=1&fields=volume_id');
  expect(page.body['targets']).toEqual([{ volume_id: 'v1', links: expect.anything() as unknown }]);
  expect(page.body['next']).toContain('/v1/volume/targets?limit=1');
  expect((await api.call('GET', '/v1/nodes/n1/volume')).body).toMatchObject({
    targets: [{ href: `http://api.example/v1/nodes/${nodeUuid}/volume/targets` }, {}],
  });
  expect((await api.call('GET', '/v1/volume', undefined, '1.31')).status).toBe(404);
});

test("nothing changes under a running machine; a node's volumes go with it", async () => {
  const { uuid } = await target();
  const path = `/v1/volume/targets/${uuid}`;
  await api.context.db.update(nodes).set({ targetPowerState: 'rebooting' }).where(eq(nodes.uuid, nodeUuid));
  expect((await api.call('DELETE', path)).status).toBe(400);
  await api.context.db
    .update(nodes)
    .set({ powerState: 'power on', targetPowerState: null })
    .where(eq(nodes.uuid, nodeUuid));
  expect(await api.call('DELETE', path)).toMatchObject({ status: 400, fault: containing('"power on"') });
  expect((await api.call('PATCH', path, [])).status).toBe(400);
  expect((await api.call('DELETE', '/v1/nodes/n1')).status).toBe(204);
  expect((await api.call('GET', path)).status).toBe(404);
});
