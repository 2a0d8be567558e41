import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { nodeBootEvents } from '#conductor/kernel/db/schema/agent.ts';
import { listBootEvents, recordBootEvent } from '#conductor/nodes/boot/boot-event-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const mac = '52:54:00:00:00:01';
const always = { since: new Date(0), until: null };
let api: TestApi;
let nodeUuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  nodeUuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' })).uuid;
  await api.call('POST', '/v1/ports', { node_uuid: nodeUuid, address: mac });
});
afterAll(() => api.close());

const see = (event: Parameters<typeof recordBootEvent>[2]['event'], more: object = {}, of: object = { mac }) =>
  recordBootEvent(api.context.db, of as { mac: string }, { event, conductor: 'c', ...more });
const events = async () =>
  (await listBootEvents(api.context.db, nodeUuid, always)).map(({ event, detail, bytes }) => [event, detail, bytes]);

test('keeps what is seen of a node, by its MAC address or itself', async () => {
  await see('dhcp', { detail: '10.1.0.50' });
  await see('kernel', { bytes: 8_247_232 });
  await see('lookup', {}, { nodeUuid });
  expect(await events()).toEqual([
    ['dhcp', '10.1.0.50', null],
    ['kernel', null, 8_247_232],
    ['lookup', null, null],
  ]);
  const future = { since: new Date(Date.now() + 60_000), until: null };
  expect(await listBootEvents(api.context.db, nodeUuid, future)).toEqual([]);
});

test('what is repeated at once counts once; what is of no node, not at all', async () => {
  for (const address of ['10.1.0.50', '10.1.0.50', '10.1.0.51']) await see('dhcp', { detail: address });
  await see('dhcp', { detail: '10.1.0.52' }, { mac: '52:54:00:00:00:ff' });
  await see('lookup', {}, { nodeUuid: '00000000-0000-4000-8000-000000000000' });
  expect(await events()).toHaveLength(2);
});

test('a refusal counts once, until something else is seen of the boot', async () => {
  const refused = { detail: 'heartbeat: TLS is required' };
  expect(await see('refused', refused, { ident: nodeUuid })).toBe(nodeUuid);
  await api.context.db.update(nodeBootEvents).set({ at: new Date(Date.now() - 60_000) });
  expect(await see('refused', refused, { nodeUuid })).toBeUndefined();
  await see('refused', { detail: 'lookup: another reason' });
  expect(await see('refused', refused)).toBeUndefined();
  await see('script', { detail: 'ramdisk' });
  expect(await see('refused', refused)).toBe(nodeUuid);
  expect((await events()).map(([event]) => event)).toEqual(['refused', 'refused', 'script', 'refused']);
});

test('a machine is known by all of its MAC addresses, but not where they are of two nodes', async () => {
  const other = '52:54:00:00:00:02';
  expect(await see('lookup', {}, { macs: [other, mac] })).toBe(nodeUuid);
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address: other });
  expect(await see('kernel', {}, { macs: [other, mac] })).toBeUndefined();
  expect((await events()).map(([event]) => event)).toEqual(['lookup']);
});

test('the newest 60 stay', async () => {
  for (let number = 1; number <= 65; number += 1) await see('kernel', { bytes: number });
  const kept = await events();
  expect(kept).toHaveLength(60);
  expect([kept[0], kept.at(-1)]).toEqual([
    ['kernel', null, 6],
    ['kernel', null, 65],
  ]);
});
