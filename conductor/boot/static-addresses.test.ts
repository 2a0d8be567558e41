import { expect, test } from 'vitest';
import { staticAddresses } from '#conductor/boot/static-addresses.ts';

const links = [
  { id: 'nic0', type: 'phy', ethernet_mac_address: '52:54:00:AA:BB:01' },
  { id: 'nic1', type: 'phy', ethernet_mac_address: '52:54:00:aa:bb:02' },
  { id: 'lag', type: 'bond', bond_links: ['nic0', 'nic1'], bond_mode: '802.1ad' },
  { id: 'lag.7', type: 'vlan', vlan_link: 'lag', vlan_id: 7, vlan_mac_address: '52:54:00:AA:BB:07' },
  { id: 'nic1.8', type: 'vlan', vlan_link: 'nic1', vlan_id: 8 },
];
const network = { link: 'nic0', type: 'ipv4', ip_address: '192.0.2.10', netmask: '255.255.255.0' };

test('one parameter for each static network', () => {
  const data = {
    links,
    networks: [
      { ...network, routes: [{ network: '0.0.0.0', netmask: '0.0.0.0', gateway: '192.0.2.1' }] },
      { link: 'nic0', type: 'ipv6', ip_address: '2001:db8::10/64', gateway: '2001:db8::1' },
      { link: 'nic0', type: 'ipv4_dhcp' },
    ],
    services: [{ type: 'dns', address: '192.0.2.53' }],
  };
  expect(staticAddresses(data)).toEqual([
    'baton.address=52:54:00:aa:bb:01,192.0.2.10/24,192.0.2.1,192.0.2.53',
    'baton.address=52:54:00:aa:bb:01,2001:db8::10/64,2001:db8::1,192.0.2.53',
  ]);
});

test('no network_data, no parameter', () => {
  expect(staticAddresses({})).toEqual([]);
  expect(staticAddresses({ links, networks: [{ ...network, netmask: '24' }] })).toEqual([
    'baton.address=52:54:00:aa:bb:01,192.0.2.10/24,',
  ]);
});

test('bonds and VLANs are made, each once, where a network stands on them', () => {
  const on = (link: string, last: number) => ({ ...network, link, ip_address: `192.0.2.${last}` });
  const bond = 'baton.bond=bond0,802.3ad,52:54:00:aa:bb:01,52:54:00:aa:bb:02';
  expect(staticAddresses({ links, networks: [on('lag.7', 10), on('lag', 11), on('lag.7', 12)] })).toEqual([
    bond,
    'baton.vlan=vlan0,52:54:00:aa:bb:07,7,bond0',
    'baton.address=vlan0,192.0.2.10/24,',
    'baton.address=bond0,192.0.2.11/24,',
    'baton.address=vlan0,192.0.2.12/24,',
  ]);
  expect(staticAddresses({ links, networks: [on('nic1.8', 10), on('nic0', 11)] })).toEqual([
    'baton.vlan=vlan0,,8,52:54:00:aa:bb:02',
    'baton.address=vlan0,192.0.2.10/24,',
    'baton.address=52:54:00:aa:bb:01,192.0.2.11/24,',
  ]);
});

const broken = (link: object) => ({ links: [links[0], { id: 'it', ...link }], networks: [{ ...network, link: 'it' }] });

test.each([
  [{ networks: [network] }, 'network_data.networks.0.link is "nic0", which is not a link\'s id'],
  [
    broken({ type: 'bond', bond_links: ['nic0'], bond_mode: 'lacp' }),
    'links.1.bond_mode must be one of balance-rr, act',
  ],
  [broken({ type: 'bond' }), 'network_data.links.1.bond_links must name the cards of the bond'],
  [broken({ type: 'bond', bond_links: ['nic0', 'nic9'] }), 'links.1.bond_links.1 is "nic9", which is not a link\'s id'],
  [broken({ type: 'bond', bond_links: ['it'] }), 'network_data.links.1.bond_links.0 is a bond: it must be a card'],
  [broken({ type: 'vlan', vlan_link: 'nic0' }), 'network_data.links.1.vlan_id must be a number from 1 to 4094'],
  [broken({ type: 'vlan', vlan_link: 'nic0', vlan_id: 4095 }), 'network_data.links.1.vlan_id '],
  [broken({ type: 'vlan', vlan_id: 7 }), 'network_data.links.1.vlan_link must name the link that the VLAN is on'],
  [broken({ type: 'vlan', vlan_link: 'it', vlan_id: 7 }), 'links.1.vlan_link is a vlan: it must be a card or a bond'],
  [broken({ type: 'vlan', vlan_link: 'nic0', vlan_id: 7, vlan_mac_address: 'x' }), 'vlan_mac_address must be a MAC'],
  [{ links, networks: [{ ...network, ip_address: '192.0.2' }] }, 'networks.0.ip_address must be an ipv4 address'],
  [{ links, networks: [{ ...network, netmask: '255.0.255.0' }] }, 'networks.0.netmask must be a mask such as'],
  [{ links, networks: [{ ...network, netmask: '33' }] }, 'networks.0.netmask must be a mask such as'],
  [{ links, networks: [{ ...network, gateway: 'a b' }] }, 'networks.0 has "a b", which is not an address'],
  [{ links: [{ id: 'nic0' }], networks: [network] }, 'networks.0.link needs a link with ethernet_mac_address'],
  [{ networks: 7 }, 'network_data.networks '],
])('refuses %j', (data, says) => {
  expect(() => staticAddresses(data)).toThrow(says);
});
