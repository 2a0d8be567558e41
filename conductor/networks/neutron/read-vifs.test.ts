import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createNeutronConnector } from '#conductor/networks/neutron/connect-by-neutron.ts';
import { createNeutronClient, type NeutronClient } from '#conductor/networks/neutron/neutron-client.ts';
import { readVifs } from '#conductor/networks/neutron/read-vifs.ts';
import { type SimulatedNeutron, startSimulatedNeutron } from '#test/simulators/neutron.ts';

const settingsOf = (url: string) => ({
  url,
  caFile: undefined,
  keystone: undefined,
  networks: { provisioning: 'provision-net', cleaning: 'clean-net' },
});
const { signal } = new AbortController();

let neutron: SimulatedNeutron;
let client: NeutronClient;
beforeEach(async () => {
  neutron = await startSimulatedNeutron();
  client = createNeutronClient(settingsOf(neutron.url));
});
afterEach(async () => {
  await client.close();
  await neutron.stop();
});

/** Every second subport is in one network; all are in one subnet. */
function addTrunk(count: number) {
  const shared = neutron.addNetwork('shared');
  const subnet_id = neutron.addSubnet({ ip_version: 4, cidr: '10.1.0.0/23', enable_dhcp: true });
  const sub_ports = Array.from({ length: count }, (_, index) => {
    const network = index % 2 === 0 ? shared : neutron.addNetwork(`net${index}`);
    const { id, mac_address } = neutron.addPort(network, { fixed_ips: [{ subnet_id, ip_address: '10.1.0.7' }] });
    return { port_id: id, segmentation_id: 100 + index, segmentation_type: 'vlan', mac_address } as const;
  });
  return neutron.addPort(neutron.addNetwork('blue'), { trunk_details: { trunk_id: 't', sub_ports } });
}

test('a large trunk is read in few requests, by lists; a port that is gone is named', async () => {
  const trunk = addTrunk(250);
  const subPorts = trunk.trunk_details?.sub_ports ?? [];
  const [vif] = await readVifs(client, [trunk.id], signal);
  expect(vif?.vlans.map(({ port, vlan }) => [port.id, vlan])).toEqual(
    subPorts.map((each) => [each.port_id, each.segmentation_id]),
  );
  expect(vif?.vlans.map(({ network, subnets }) => `${network.name} ${subnets.length}`).slice(0, 4)).toEqual([
    'shared 1',
    'net1 1',
    'shared 1',
    'net3 1',
  ]);
  // the VIF, 250 ports in three lists, 127 networks in two, the subnet
  expect(neutron.requests.map((each) => each.replace(/[?].*|[^/]{36}$/, ''))).toEqual([
    'GET /v2.0/ports/',
    ...Array.from({ length: 3 }, () => 'GET /v2.0/ports'),
    ...Array.from({ length: 2 }, () => 'GET /v2.0/networks'),
    'GET /v2.0/subnets',
  ]);
  const gone = subPorts[7]?.port_id ?? '';
  neutron.state.ports.delete(gone);
  await expect(readVifs(client, [trunk.id], signal)).rejects.toThrow(`Port ${gone} could not be found`);
});

test('a trunk of more ports than anyone has is refused before they are read', async () => {
  const trunk = addTrunk(301);
  await expect(readVifs(client, [trunk.id], signal)).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining(`trunk of VIF ${trunk.id}: it has 301 subports`) as string,
  });
  expect(neutron.requests).toHaveLength(1);
});

test('Neutron that does not answer is not waited for longer than a request may last', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const connector = createNeutronConnector(settingsOf(url), { pollMs: 1, waitMs: 2000, readMs: 50 });
  const vif = { id: crypto.randomUUID(), portUuid: null, portgroupUuid: null };
  const destination = { purpose: 'tenant', vifs: [vif] } as const;
  const reading = connector.networkData({ nodeUuid: crypto.randomUUID(), ports: [], groups: [], destination });
  await expect(reading).rejects.toMatchObject({ code: 'timeout', retryable: true });
  await connector.close();
  silent.closeAllConnections();
  silent.close();
});

test('a network of several segments is on the physical networks of all', async () => {
  const network = neutron.addNetwork('wide');
  const segments = [null, 'left', 'right'].map((name) => ({ 'provider:physical_network': name }));
  Object.assign(neutron.state.networks.get(network) ?? {}, { segments });
  const connector = createNeutronConnector(settingsOf(neutron.url), { pollMs: 1, waitMs: 2000, readMs: 2000 });
  const { id } = neutron.addPort(network);
  const found = await connector.findVif(id);
  await connector.close();
  expect(found.physicalNetwork).toEqual(['left', 'right']);
});
