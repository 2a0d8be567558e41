import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { noNetworks } from '#conductor/networks/networks-file.ts';
import { PortRulesInFile } from '#conductor/networks/vifs/port-rules.ts';
import { dissolveUnusedGroups } from '#conductor/nodes/ports/place-by-rules.ts';
import { deleteVifs } from '#conductor/nodes/ports/port-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Port groups that rules make of ports, by traits of the instance (Ironic's trait-based networking, 1.111). */

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi({
    networks: {
      ...noNetworks,
      networks: ['blue', 'red'].map((name) => ({ name, vlans: portVlans(10) })),
      portRules: PortRulesInFile.parse({
        CUSTOM_BOND: {
          actions: [
            { action: 'group_and_attach_ports', filter: "port.category == 'fast'", min_count: 2, mode: '802.3ad' },
            { action: 'attach_port', filter: "port.vendor == 'green'" },
          ],
        },
      }),
    },
  });
});
beforeEach(async () => {
  await api.reset();
  const node = { driver: 'fake-hardware', name: 'n1', network_interface: 'switchport' };
  uuid = (await api.call('POST', '/v1/nodes', { ...node, instance_info: { traits: ['CUSTOM_BOND'] } })).uuid;
});
afterAll(() => api.close());

const newest = (method: string, path: string, body?: unknown) => api.call(method, path, body, '1.111');
const addPort = (number: number, more: Record<string, unknown> = {}) =>
  newest('POST', '/v1/ports', {
    node_uuid: uuid,
    address: `52:54:00:00:00:0${number}`,
    local_link_connection: { switch_id: 's', port_id: `p${number}` },
    ...more,
  });
const attach = (id: string, more: Record<string, unknown> = {}) => newest('POST', '/v1/nodes/n1/vifs', { id, ...more });
const groups = async () =>
  (await newest('GET', '/v1/portgroups/detail')).body['portgroups'] as Record<string, unknown>[];
const members = async () =>
  ((await newest('GET', '/v1/ports/detail')).body['ports'] as Record<string, unknown>[]).map((port) =>
    port['portgroup_uuid'] === null ? null : 'grouped',
  );

const addFast = async () => {
  for (const number of [1, 2]) await addPort(number, { category: 'fast' });
  await addPort(3, { vendor: 'green' });
};

test('a group is made of the ports that the rule chooses, and goes with its network', async () => {
  await addFast();
  expect((await attach('blue')).status).toBe(204);
  const [group] = await groups();
  expect(group).toMatchObject({ dynamic_portgroup: true, mode: '802.3ad', node_uuid: uuid });
  expect(await members()).toEqual(['grouped', 'grouped', null]);
  // the next rule has the port that is left; after it there is none
  expect((await attach('red')).status).toBe(204);
  expect((await newest('DELETE', `/v1/portgroups/${String(group?.['uuid'])}`)).status).toBe(409);
  expect((await newest('DELETE', '/v1/nodes/n1/vifs/red')).status).toBe(204);
  expect(await groups()).toHaveLength(1);
  expect((await newest('DELETE', '/v1/nodes/n1/vifs/blue')).status).toBe(204);
  expect([await groups(), await members()]).toEqual([[], [null, null, null]]);
});

test("an instance's release takes apart the groups that were made for it, and no others", async () => {
  await addFast();
  await newest('POST', '/v1/portgroups', { node_uuid: uuid, name: 'own' });
  await attach('blue');
  expect(await groups()).toHaveLength(2);
  await deleteVifs(api.context.db, uuid);
  await dissolveUnusedGroups(api.context.db, uuid, []);
  expect(await groups()).toMatchObject([{ name: 'own', dynamic_portgroup: false }]);
  expect(await members()).toEqual([null, null, null]);
});

test('a group that an older conductor has left is taken apart when the next network is attached', async () => {
  await addFast();
  await attach('blue');
  const [left] = await groups();
  await deleteVifs(api.context.db, uuid);
  expect((await attach('red')).status).toBe(204);
  const [made, ...others] = await groups();
  expect([made?.['uuid'] === left?.['uuid'], others]).toEqual([false, []]);
  expect(await members()).toEqual(['grouped', 'grouped', null]);
  // one that a network has stays
  expect((await attach('blue')).status).toBe(204);
  expect((await groups()).map((group) => group['uuid'])).toEqual([made?.['uuid']]);
});

test('where rules apply and find no port, nothing is attached', async () => {
  await addPort(1, { category: 'fast' });
  await addPort(2, { category: 'fast', available_for_dynamic_portgroup: false });
  const fault = expect.stringContaining('no rule of its traits') as unknown;
  expect(await attach('blue')).toMatchObject({ status: 400, fault });
  expect([await groups(), (await newest('GET', '/v1/nodes/n1/vifs')).body]).toEqual([[], { vifs: [] }]);
  const port = ((await newest('GET', '/v1/ports')).body['ports'] as { uuid: string }[])[0]?.uuid;
  expect((await attach('blue', { port_uuid: port })).status).toBe(204);
});

test('an instance without such a trait has ports as usual', async () => {
  await addFast();
  await newest('PATCH', '/v1/nodes/n1', [{ op: 'remove', path: '/instance_info/traits' }]);
  expect((await attach('blue')).status).toBe(204);
  expect(await groups()).toEqual([]);
});

test('the fields are there since 1.111; only rules make dynamic groups', async () => {
  const port = await addPort(1);
  expect(port.body['available_for_dynamic_portgroup']).toBe(true);
  const older = (await api.call('GET', `/v1/ports/${port.uuid}`, undefined, '1.110')).body;
  expect(older).not.toHaveProperty('available_for_dynamic_portgroup');
  const patch = [{ op: 'replace', path: '/available_for_dynamic_portgroup', value: false }];
  expect((await api.call('PATCH', `/v1/ports/${port.uuid}`, patch, '1.110')).status).toBe(406);
  expect((await newest('PATCH', `/v1/ports/${port.uuid}`, patch)).body['available_for_dynamic_portgroup']).toBe(false);
  expect((await newest('PATCH', `/v1/ports/${port.uuid}`, [{ ...patch[0], value: 'maybe' }])).status).toBe(400);
  const group = await newest('POST', '/v1/portgroups', { node_uuid: uuid });
  expect(group.body['dynamic_portgroup']).toBe(false);
  const path = `/v1/portgroups/${group.uuid}`;
  expect((await api.call('GET', path, undefined, '1.110')).body).not.toHaveProperty('dynamic_portgroup');
  expect((await api.call('GET', '/v1/portgroups?fields=dynamic_portgroup', undefined, '1.110')).status).toBe(406);
  for (const answer of [
    await newest('PATCH', path, [{ op: 'replace', path: '/dynamic_portgroup', value: true }]),
    await newest('POST', '/v1/portgroups', { node_uuid: uuid, dynamic_portgroup: true }),
  ])
    expect(answer).toMatchObject({ status: 400, fault: expect.stringContaining('dynamic_portgroup') as unknown });
});
