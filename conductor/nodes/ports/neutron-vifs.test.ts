import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type SimulatedNeutron, startSimulatedNeutron } from '#test/simulators/neutron.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let neutron: SimulatedNeutron;
let api: TestApi;
let uuid: string;
beforeAll(async () => {
  neutron = await startSimulatedNeutron();
  const networks = { provisioning: 'provision-net', cleaning: 'provision-net' };
  const settings = { url: neutron.url, caFile: undefined, keystone: undefined, networks };
  api = await openTestApi({ networks: { switches: [], networks: [], defaults: undefined, neutron: settings } });
  const node = { driver: 'fake-hardware', name: 'n1', network_interface: 'neutron' };
  uuid = (await api.call('POST', '/v1/nodes', node)).uuid;
});
afterAll(async () => {
  await api?.close();
  await neutron?.stop();
});

const attach = (id: string) => api.call('POST', '/v1/nodes/n1/vifs', { id });
const containing = (text: string) => expect.stringContaining(text) as unknown;
const validated = async () =>
  ((await api.call('GET', '/v1/nodes/n1/validate')).body as { network: { result: boolean; reason?: string } }).network;

test('VIFs are ports of Neutron, each on a port of its physical network', async () => {
  const [blue, storage] = ['blue', 'storage'].map((name) => neutron.addPort(neutron.addNetwork(name, name)).id);
  const nowhere = crypto.randomUUID();
  expect(await attach(nowhere)).toMatchObject({ status: 400, fault: containing(`Neutron has no port '${nowhere}'`) });
  expect(await attach(blue ?? '')).toMatchObject({ status: 400, fault: containing('not enough free physical ports') });
  expect(await validated()).toMatchObject({ result: false, reason: containing('no port can be bound') });
  const link = { switch_id: 'leaf1', port_id: 'Ethernet1' };
  const port = { node_uuid: uuid, address: '52:54:00:00:02:01', local_link_connection: link, physical_network: 'blue' };
  await api.call('POST', '/v1/ports', port);
  expect(await validated()).toEqual({ result: true });
  expect((await attach(blue ?? '')).status).toBe(204);
  expect(await attach(blue ?? '')).toMatchObject({ status: 409, fault: containing('attached already') });
  expect(await attach(storage ?? '')).toMatchObject({ status: 400, fault: containing('not enough free') });
  expect((await api.call('GET', '/v1/nodes/n1/vifs')).body).toEqual({ vifs: [{ id: blue }] });
});

test('a config drive with its own network_data asks Neutron for nothing', async () => {
  const instanceInfo = { image_source: 'http://x/demo.raw', image_checksum: 'a'.repeat(64) };
  await api.context.db.update(nodes).set({ provisionState: 'available', instanceInfo }).where(eq(nodes.uuid, uuid));
  const [{ id: blue } = { id: '' }] = [...neutron.state.ports.values()];
  neutron.state.ports.delete(blue);
  const deploy = (configdrive: object) =>
    api.call('PUT', '/v1/nodes/n1/states/provision', { target: 'active', configdrive });
  expect(await deploy({ meta_data: {} })).toMatchObject({ fault: containing(`Port ${blue} could not be found`) });
  neutron.requests.splice(0);
  expect(await deploy({ network_data: { links: [] } })).toMatchObject({ status: 202 });
  expect(neutron.requests).toEqual([]);
  await api.context.db.delete(flows);
  await api.context.db.update(nodes).set({ provisionState: 'available' }).where(eq(nodes.uuid, uuid));
});

test('a node that is deleted takes along what Baton made for it in Neutron, and no VIF', async () => {
  const made = { name: 'baton cleaning x', device_id: uuid, device_owner: 'baremetal:none' };
  const own = neutron.addPort(neutron.addNetwork('left'), made);
  const others = [...neutron.state.ports.keys()].filter((id) => id !== own.id);
  expect((await api.call('DELETE', '/v1/nodes/n1')).status).toBe(204);
  expect([...neutron.state.ports.keys()]).toEqual(others);
});
