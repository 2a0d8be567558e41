import { expect, test } from 'vitest';
import { staticAddresses } from '#conductor/boot/static-addresses.ts';

const links = [
  { id: 'nic0', type: 'phy', ethernet_mac_address: '52:54:00:AA:BB:01' },
  { id: 'bond0', type: 'bond', ethernet_mac_address: '52:54:00:aa:bb:02' },
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

test.each([
  [{ networks: [network] }, 'network_data.networks.0.link is "nic0", which is no link\'s id'],
  [{ links, networks: [{ ...network, link: 'bond0' }] }, 'networks.0.link is a bond: the ramdisk takes addresses on'],
  [{ links, networks: [{ ...network, ip_address: '192.0.2' }] }, 'networks.0.ip_address must be an ipv4 address'],
  [{ links, networks: [{ ...network, netmask: '255.0.255.0' }] }, 'networks.0.netmask must be a mask such as'],
  [{ links, networks: [{ ...network, netmask: '33' }] }, 'networks.0.netmask must be a mask such as'],
  [{ links, networks: [{ ...network, gateway: 'a b' }] }, 'networks.0 has "a b", which is no address'],
  [{ links: [{ id: 'nic0' }], networks: [network] }, 'networks.0.link needs a link with ethernet_mac_address'],
  [{ networks: 7 }, 'network_data.networks '],
])('refuses %j', (data, says) => {
  expect(() => staticAddresses(data)).toThrow(says);
});
