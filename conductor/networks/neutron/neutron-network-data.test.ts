import { expect, test } from 'vitest';
import { bonded, group, neutronWorld, port } from '#conductor/networks/neutron/testing/neutron-world.ts';

/** An instance is told of its links. */

const world = neutronWorld();

const v4 = (more: object) =>
  world.neutron.addSubnet({ ip_version: 4, cidr: '10.1.0.0/23', enable_dhcp: true, ...more });

test('nothing where DHCP alone finds the way', async () => {
  const fixed = [{ subnet_id: v4({}), ip_address: '10.1.0.5' }];
  const plain = world.neutron.addPort(world.neutron.addNetwork('plain'), { fixed_ips: fixed });
  expect(await world.networkData([plain.id], [port(1)])).toBeUndefined();
  expect(await world.networkData([], [port(1)])).toBeUndefined();
});

test('a bond with a trunk’s VLANs, addresses fixed and by DHCP, routes and name servers', async () => {
  const fixed = v4({
    enable_dhcp: false,
    gateway_ip: '10.1.0.1',
    dns_nameservers: ['10.1.0.2'],
    host_routes: [{ destination: '10.9.0.0/16', nexthop: '10.1.0.9' }],
  });
  const six = { ip_version: 6, cidr: 'fd00:7::/64', enable_dhcp: true, ipv6_address_mode: 'slaac' };
  const sixth = world.neutron.addSubnet(six);
  const storage = world.neutron.addNetwork('storage');
  const sub = world.neutron.addPort(storage, { fixed_ips: [{ subnet_id: sixth, ip_address: 'fd00:7::5' }] });
  const sub_ports = [
    { port_id: sub.id, segmentation_id: 700, segmentation_type: 'vlan', mac_address: sub.mac_address } as const,
  ];
  const parent = world.neutron.addPort(world.neutron.addNetwork('blue'), {
    fixed_ips: [{ subnet_id: fixed, ip_address: '10.1.0.5' }],
    trunk_details: { trunk_id: 't', sub_ports },
  });
  const data = await world.networkData([parent.id], bonded);
  expect(data?.['links']).toEqual([
    { id: 'bond0-0', type: 'phy', ethernet_mac_address: '52:54:00:00:00:01' },
    { id: 'bond0-1', type: 'phy', ethernet_mac_address: '52:54:00:00:00:02' },
    {
      bond_miimon: 100,
      bond_lacp_rate: 'fast',
      id: 'bond0',
      type: 'bond',
      ethernet_mac_address: group.address,
      bond_mode: '802.3ad',
      bond_links: ['bond0-0', 'bond0-1'],
    },
    { id: 'bond0.700', type: 'vlan', vlan_link: 'bond0', vlan_id: 700, vlan_mac_address: sub.mac_address },
  ]);
  expect(data?.['networks']).toEqual([
    {
      id: `bond0-${fixed}`,
      link: 'bond0',
      network_id: parent.network_id,
      type: 'ipv4',
      ip_address: '10.1.0.5',
      netmask: '255.255.254.0',
      routes: [
        { network: '0.0.0.0', netmask: '0.0.0.0', gateway: '10.1.0.1' },
        { network: '10.9.0.0', netmask: '255.255.0.0', gateway: '10.1.0.9' },
      ],
    },
    { id: `bond0.700-${sixth}`, link: 'bond0.700', network_id: storage, type: 'ipv6_slaac' },
  ]);
  expect(data?.['services']).toEqual([{ type: 'dns', address: '10.1.0.2' }]);
  // it is only asked
  expect(parent['binding:host_id']).toBe('');
});

test('of a subnet without DHCP every address; its routes once', async () => {
  const subnet = v4({ enable_dhcp: false, gateway_ip: '10.1.0.1' });
  const two = world.neutron.addPort(world.neutron.addNetwork('two'), {
    fixed_ips: ['10.1.0.5', '10.1.0.6'].map((ip_address) => ({ subnet_id: subnet, ip_address })),
  });
  const common = { link: 'port0', network_id: two.network_id, type: 'ipv4', netmask: '255.255.254.0' };
  expect((await world.networkData([two.id], [port(1)]))?.['networks']).toEqual([
    {
      ...common,
      id: `port0-${subnet}`,
      ip_address: '10.1.0.5',
      routes: [{ network: '0.0.0.0', netmask: '0.0.0.0', gateway: '10.1.0.1' }],
    },
    { ...common, id: `port0-${subnet}-1`, ip_address: '10.1.0.6', routes: [] },
  ]);
});

test('a fixed IPv6 address has its mask; a VIF that is gone is named', async () => {
  const subnet = world.neutron.addSubnet({ ip_version: 6, cidr: 'fd00:7::/68', enable_dhcp: false });
  const six = world.neutron.addPort(world.neutron.addNetwork('six'), {
    fixed_ips: [{ subnet_id: subnet, ip_address: 'fd00:7::5' }],
  });
  expect((await world.networkData([six.id], [port(1)]))?.['networks']).toMatchObject([
    { type: 'ipv6', ip_address: 'fd00:7::5', netmask: 'ffff:ffff:ffff:ffff:f000:0:0:0', routes: [] },
  ]);
  const gone = '00000000-0000-4000-8000-000000000001';
  await expect(world.networkData([gone], [port(1)])).rejects.toMatchObject({ code: 'not_found' });
});
