import { describe, expect, test } from 'vitest';
import { faultText, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';

/** Drydock's networks, links and hardware profiles, as published sites write them. */

const node = (data: string) =>
  yamlOf(
    'drydock/BaremetalNode/v1',
    'n1',
    `oob: {type: redfish, network: oob, credential: bmc}
platform: {image: 'http://images/debian.qcow2', checksum: 'sha256:${'a'.repeat(64)}'}
${data}`,
  );
const network = (name: string, data: string) => yamlOf('drydock/Network/v1', name, data);
const link = (name: string, data: string) => yamlOf('drydock/NetworkLink/v1', name, data);

const bonded = `interfaces:
  p1: {mac: '52:54:00:00:00:01'}
  p2: {mac: '52:54:00:00:00:02', pxe: false}
  pxe: {device_link: pxe, slaves: [p1], networks: [pxe], labels: {pxe: true}}
  bond0: {device_link: gp, slaves: [p1, p2], networks: [oam, storage]}
primary_network: oam
addressing:
  - {network: oob, address: 192.0.2.9}
  - {network: pxe, address: dhcp}
  - {network: oam, address: 172.16.1.21}
  - {network: storage, address: 172.16.2.21}`;
const networks = [
  network('pxe', 'cidr: 172.16.0.0/24\nranges: [{type: dhcp, start: 172.16.0.11, end: 172.16.0.30}]\n'),
  network(
    'oam',
    `vlan: '101'
mtu: 9000
cidr: 172.16.1.0/24
routes: [{subnet: 0.0.0.0/0, gateway: 172.16.1.1, metric: 100}]
dns: {domain: site.example, servers: '172.16.1.9,172.16.1.10'}`,
  ),
  network(
    'storage',
    `vlan: 102
cidr: 172.16.2.0/25
routedomain: storage
routes: [{subnet: 0.0.0.0/0, gateway: 172.16.2.1}, {gateway: 172.16.2.2, routedomain: storage, metric: 100}]`,
  ),
  network('far-storage', 'vlan: 103\ncidr: 172.16.3.0/24\nroutedomain: storage\n'),
].join('');
const trunk = link(
  'gp',
  `bonding: {mode: 802.3ad, hash: layer3+4, peer_rate: fast, mon_rate: 100, up_delay: 1000, down_delay: 3000}
mtu: 9000
linkspeed: auto
trunking: {mode: 802.1q, default_network: none}
allowed_networks: [oam, storage]`,
);

const faultsOf = (text: string) => readText(text).faults.map(faultText);
const one = (text: string) => {
  const { site, faults } = readText(text);
  expect(faults.filter(({ level }) => level === 'Error')).toEqual([]);
  return site?.nodes.get('n1');
};

describe('addresses', () => {
  test('of VLANs on a bond, with routes to a domain, and the way out of the primary network alone', () => {
    const found = one(
      node(bonded) + networks + trunk + link('pxe', 'trunking: {mode: disabled, default_network: pxe}'),
    );
    expect(found?.configDrive).toEqual({
      network_data: {
        links: [
          { id: 'cable-p1', type: 'phy', ethernet_mac_address: '52:54:00:00:00:01' },
          { id: 'cable-p2', type: 'phy', ethernet_mac_address: '52:54:00:00:00:02' },
          {
            id: 'bond0',
            type: 'bond',
            ethernet_mac_address: '52:54:00:00:00:01',
            bond_mode: '802.3ad',
            bond_miimon: 100,
            bond_updelay: 1000,
            bond_downdelay: 3000,
            bond_xmit_hash_policy: 'layer3+4',
            bond_lacp_rate: 'fast',
            bond_links: ['cable-p1', 'cable-p2'],
            mtu: 9000,
          },
          vlan('oam', 101),
          vlan('storage', 102),
        ],
        networks: [
          {
            id: 'oam',
            network_id: 'oam',
            link: 'bond0.101',
            type: 'ipv4',
            ip_address: '172.16.1.21',
            netmask: '255.255.255.0',
            routes: [{ network: '0.0.0.0', netmask: '0.0.0.0', gateway: '172.16.1.1' }],
          },
          {
            id: 'storage',
            network_id: 'storage',
            link: 'bond0.102',
            type: 'ipv4',
            ip_address: '172.16.2.21',
            netmask: '255.255.255.128',
            routes: [{ network: '172.16.3.0', netmask: '255.255.255.0', gateway: '172.16.2.2' }],
          },
        ],
        services: [
          { type: 'dns', address: '172.16.1.9' },
          { type: 'dns', address: '172.16.1.10' },
        ],
      },
    });
    // both switch ports are on the link's network of the networks file
    expect(found?.ports.map((port) => [port.address, port.network])).toEqual([
      ['52:54:00:00:00:01', 'gp'],
      ['52:54:00:00:00:02', 'gp'],
    ]);
  });

  const vlan = (_: string, id: number) => ({
    id: `bond0.${id}`,
    type: 'vlan',
    vlan_link: 'bond0',
    vlan_id: id,
    vlan_mac_address: '52:54:00:00:00:01',
    mtu: 9000,
  });

  test('of an interface alone, and the network data of the documents wins', () => {
    const plain = `interfaces: {eth0: {mac: '52:54:00:00:00:01', networks: [pxe]}}
addressing: [{network: oob, address: 192.0.2.9}, {network: pxe, address: dhcp}]`;
    expect(one(node(plain) + networks)?.configDrive).toEqual({
      network_data: {
        links: [{ id: 'cable-eth0', type: 'phy', ethernet_mac_address: '52:54:00:00:00:01' }],
        networks: [{ id: 'pxe', network_id: 'pxe', link: 'cable-eth0', type: 'ipv4_dhcp' }],
        services: [],
      },
    });
    const own = `${plain}\nconfig_drive: {network_data: {links: []}}`;
    expect(one(node(own) + networks)?.configDrive).toEqual({ network_data: { links: [] } });
    // without their documents names of networks say nothing of addresses
    expect(one(node(plain))?.configDrive).toBeUndefined();
  });

  test('of IPv6', () => {
    const data = `interfaces: {eth0: {mac: '52:54:00:00:00:01', networks: [six]}}
addressing: [{network: oob, address: 192.0.2.9}, {network: six, address: '2001:db8::5'}]`;
    const six = network('six', "cidr: '2001:db8::/52'\nroutes: [{subnet: '::/0', gateway: '2001:db8::1'}]");
    expect(one(node(data) + six)?.configDrive).toMatchObject({
      network_data: {
        networks: [
          {
            type: 'ipv6',
            ip_address: '2001:db8::5',
            netmask: 'ffff:ffff:ffff:f000:0:0:0:0',
            routes: [{ network: '::', netmask: '0:0:0:0:0:0:0:0', gateway: '2001:db8::1' }],
          },
        ],
      },
    });
  });

  test('that can not be, each with its message', () => {
    const faults = faultsOf(
      node(`interfaces:
  eth0: {mac: '52:54:00:00:00:01', networks: [oam]}
  bond0: {slaves: [nic01, nic02], networks: [x]}
addressing:
  - {network: oob, address: 192.0.2.9}
  - {network: oam, address: 10.0.0.1}
  - {network: storage, address: 172.16.2.21}
  - {network: elsewhere, address: dhcp}`) +
        networks +
        network('bad', 'vlan: 5000\ncidr: 10.0.0.0\nroutes: [{gateway: x}]') +
        link('bad', 'bonding: {mode: lacp}'),
    );
    expect(faults).toMatchInlineSnapshot(`
      [
        "Error InvalidValue Network bad data.vlan: vlan must be a number from 1 to 4094 (given: 5000)",
        "Error InvalidValue Network bad data.cidr: cidr must be a network, such as 192.0.2.0/24 (given: "10.0.0.0")",
        "Error InvalidValue Network bad data.routes[0].gateway: gateway must be an IP address (given: "x")",
        "Error InvalidValue NetworkLink bad data.bonding.mode: mode must be disabled, 802.3ad, active-backup or balanced-rr (given: "lacp")",
        "Warning NotHonoured BaremetalNode n1 data.addressing: addressing gives the deployed system no address in elsewhere: there is no such drydock/Network/v1",
        "Warning NotHonoured BaremetalNode n1 data.addressing: addressing has storage, which none of the node's interfaces is on: their networks, and a mac of each, say so",
        "Error InvalidValue BaremetalNode n1 data.addressing: addressing gives 10.0.0.1 in oam, whose cidr is 172.16.1.0/24: it must be in it, or dhcp",
        "Warning NotHonoured BaremetalNode n1 data.interfaces.bond0.slaves: slaves do not become a bond: each must be an interface of the node with a mac, or config_drive.network_data says it all",
        "Warning NotHonoured BaremetalNode n1 data.interfaces.bond0.mac: mac is missing: without it Baton makes no port of the interface",
      ]
    `);
  });
});

describe('a hardware profile', () => {
  const profile = yamlOf(
    'drydock/HardwareProfile/v1',
    'generic',
    `vendor: HP
boot_mode: uefi
bios_settings: {BootMode: Uefi, SriovGlobalEnable: true}
device_aliases: {bootdisk: {address: '0:2.0.0', dev_type: INTEL SSD, bus_type: scsi}, nic: {address: '0000:04:00.0', bus_type: pci}}`,
  );
  const of = (more: string) =>
    node(`hardware_profile: generic
interfaces: {eth0: {mac: '52:54:00:00:00:01'}}
addressing: [{network: oob, address: 192.0.2.9}]
storage: {physical_devices: {bootdisk: {labels: {bootdrive: true}}}}
${more}`);

  test('has boot mode, BIOS settings and the disk of an alias; what the node says itself holds', () => {
    expect(one(of('') + profile)).toMatchObject({
      properties: { capabilities: 'boot_mode:uefi', root_device: { hctl: '0:2:0:0' } },
      biosSettings: [
        { name: 'BootMode', value: 'Uefi' },
        { name: 'SriovGlobalEnable', value: 'true' },
      ],
    });
    const own = one(of('boot_mode: bios\nbios_settings: {BootMode: Bios}') + profile);
    expect(own).toMatchObject({
      properties: { capabilities: 'boot_mode:bios' },
      biosSettings: [
        { name: 'BootMode', value: 'Bios' },
        { name: 'SriovGlobalEnable', value: 'true' },
      ],
    });
  });

  test('that is not there, or does not know the disk, is not a profile', () => {
    expect(faultsOf(of(''))).toMatchInlineSnapshot(`
      [
        "Info NotHonoured BaremetalNode n1 data.hardware_profile: hardware_profile is not used: there is no such drydock/HardwareProfile/v1",
        "Warning NotHonoured BaremetalNode n1 data.storage.physical_devices.bootdisk: bootdisk is neither a kernel's name of a disk nor a scsi device of its hardware_profile: say which disk it is with storage.root_device, such as {serial: …}",
      ]
    `);
    expect(faultsOf(of('') + profile.replace('bus_type: scsi', 'bus_type: pci'))).toMatchInlineSnapshot(`
      [
        "Warning NotHonoured BaremetalNode n1 data.storage.physical_devices.bootdisk: bootdisk is neither a kernel's name of a disk nor a scsi device of its hardware_profile: say which disk it is with storage.root_device, such as {serial: …}",
      ]
    `);
  });
});
