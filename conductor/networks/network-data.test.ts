import { expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { type BondedPorts, networkDataOf } from '#conductor/networks/network-data.ts';
import type { SwitchPortMove } from '#conductor/networks/switch-port-move.ts';

const networks = {
  blue: { name: 'blue', vlans: portVlans(300) },
  trunk: { name: 'trunk', vlans: portVlans(300, [301, 302]) },
  tagged: { name: 'tagged', vlans: portVlans(undefined, [401]) },
};
const move = (
  number: number,
  network: keyof typeof networks | undefined,
  portgroupUuid: string | null = null,
): SwitchPortMove => ({
  port: {
    uuid: `p${number}`,
    address: `52:54:00:00:00:0${number}`,
    pxeEnabled: true,
    portgroupUuid,
    physicalNetwork: null,
    localLinkConnection: {},
  },
  portId: `tap${number}`,
  switchEntry: { switchId: 's', driver: 'ovs', endpoint: 'unix:/x' },
  network: network && networks[network],
});
const group: BondedPorts = { uuid: 'g', address: null, mode: '4', properties: { miimon: 100 } };
const phy = (number: number, id = `port${number - 1}`) => ({
  id,
  type: 'phy',
  ethernet_mac_address: `52:54:00:00:00:0${number}`,
});
const dhcp = (link: string, network_id: string) => ({ id: link, link, type: 'ipv4_dhcp', network_id });

test('nothing where all ports are on one untagged VLAN', () => {
  expect(networkDataOf([move(1, 'blue'), move(2, 'blue')], [])).toBeUndefined();
  expect(networkDataOf([move(1, undefined)], [])).toBeUndefined();
  expect(networkDataOf([], [group])).toBeUndefined();
  // a bond of one is none
  expect(networkDataOf([move(1, 'blue', 'g')], [group])).toBeUndefined();
});

test('a port without a network is not a link', () => {
  expect(networkDataOf([move(1, undefined), move(2, 'blue')], [])).toEqual({
    links: [phy(2, 'port0')],
    networks: [dhcp('port0', 'blue')],
    services: [],
  });
});

test('tagged VLANs are links on their port; without an untagged VLAN they have the addresses', () => {
  const vlan = (id: string, vlan_link: string, vlan_id: number, vlan_mac_address: string) => ({
    id,
    type: 'vlan',
    vlan_link,
    vlan_id,
    vlan_mac_address,
  });
  expect(networkDataOf([move(1, 'trunk'), move(2, 'tagged')], [])).toEqual({
    links: [
      phy(1),
      phy(2),
      vlan('port0.301', 'port0', 301, '52:54:00:00:00:01'),
      vlan('port0.302', 'port0', 302, '52:54:00:00:00:01'),
      vlan('port1.401', 'port1', 401, '52:54:00:00:00:02'),
    ],
    networks: [dhcp('port0', 'trunk'), dhcp('port1.401', 'tagged')],
    services: [],
  });
});

test('a port group is a bond, with its tagged VLANs', () => {
  expect(networkDataOf([move(1, 'trunk', 'g'), move(2, 'trunk', 'g'), move(3, 'blue')], [group])).toMatchObject({
    links: [
      phy(1),
      phy(2),
      phy(3),
      {
        id: 'bond0',
        type: 'bond',
        ethernet_mac_address: '52:54:00:00:00:01',
        bond_mode: '802.3ad',
        bond_miimon: 100,
        bond_links: ['port0', 'port1'],
      },
      { id: 'bond0.301', vlan_link: 'bond0', vlan_id: 301 },
      { id: 'bond0.302', vlan_link: 'bond0', vlan_id: 302 },
    ],
    networks: [dhcp('bond0', 'trunk'), dhcp('port2', 'blue')],
  });
});

test('a group whose members are on different networks is not a bond', () => {
  expect(networkDataOf([move(1, 'trunk', 'g'), move(2, 'blue', 'g')], [group])?.['networks']).toEqual([
    dhcp('port0', 'trunk'),
    dhcp('port1', 'blue'),
  ]);
});
