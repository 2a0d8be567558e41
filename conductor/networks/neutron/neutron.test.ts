import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Destination, NetworkPort } from '#conductor/networks/network-interfaces.ts';
import { createNeutronConnector, type NeutronConnector } from '#conductor/networks/neutron/connect-by-neutron.ts';
import type { KeystoneLogin } from '#conductor/networks/neutron/neutron-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type SimulatedNeutron, startSimulatedNeutron } from '#test/simulators/neutron.ts';

const nodeUuid = '6a3f6a0e-3a5b-4d0c-8d0f-0a8f0c5d9b11';
const group = {
  uuid: 'g1',
  name: 'bond0',
  address: '52:54:00:00:00:99',
  mode: '802.3ad',
  properties: { miimon: 100, bond_lacp_rate: 'fast' },
};
const port = (index: number, changes: Partial<NetworkPort> = {}): NetworkPort => ({
  uuid: `port-${index}`,
  address: `52:54:00:00:00:0${index}`,
  pxeEnabled: index === 1,
  portgroupUuid: null,
  physicalNetwork: null,
  localLinkConnection: { switch_id: 'leaf1', port_id: `Ethernet${index}`, switch_info: 'leaf1' },
  ...changes,
});
const twoPorts = [port(1), port(2)];

let neutron: SimulatedNeutron;
let connector: NeutronConnector;
let folder: string;
const connectors: NeutronConnector[] = [];

function connectTo(keystone?: KeystoneLogin): NeutronConnector {
  const made = createNeutronConnector(
    {
      url: keystone ? undefined : neutron.url,
      caFile: undefined,
      keystone,
      networks: { provisioning: 'provision-net', cleaning: 'clean-net' },
    },
    { pollMs: 1, waitMs: 2000, readMs: 30_000 },
  );
  connectors.push(made);
  return made;
}

beforeEach(async () => {
  neutron = await startSimulatedNeutron();
  neutron.addNetwork('provision-net', 'physnet1');
  neutron.addNetwork('clean-net', 'physnet1');
  folder = await mkdtemp(join(tmpdir(), 'baton-neutron-'));
  connector = connectTo();
});
afterEach(async () => {
  for (const each of connectors.splice(0)) await each.close();
  await neutron.stop();
  await rm(folder, { recursive: true, force: true });
});

const go = (destination: Destination, ports: readonly NetworkPort[] = twoPorts, by = connector) =>
  by.connect({ nodeUuid, ports, groups: [group], destination });
const vif = (id: string, at: { portUuid?: string; portgroupUuid?: string } = {}) => ({
  id,
  portUuid: at.portUuid ?? null,
  portgroupUuid: at.portgroupUuid ?? null,
});
const tenant = (...ids: string[]): Destination => ({ purpose: 'tenant', vifs: ids.map((id) => vif(id)) });
const all = () => [...neutron.state.ports.values()];
/** What Neutron has of a network, as `MAC status`. */
const inNetwork = (name: string): string[] => {
  const network = [...neutron.state.networks.values()].find((each) => each.name === name);
  return all()
    .filter((each) => each.network_id === network?.id)
    .map((each) => `${each.mac_address} ${each.status} ${each['binding:vif_type']}`);
};

describe('the ramdisk’s networks', () => {
  test('a port for each that boots from the network, bound as Ironic binds it, and ACTIVE', async () => {
    const placements = await go({ purpose: 'provisioning' });
    expect(placements.map((each) => [each.port.uuid, each.network])).toEqual([
      ['port-1', 'provision-net'],
      ['port-2', null],
    ]);
    expect(all()).toEqual([
      expect.objectContaining({
        mac_address: '52:54:00:00:00:01',
        device_id: nodeUuid,
        device_owner: 'baremetal:none',
        status: 'ACTIVE',
        'binding:host_id': nodeUuid,
        'binding:vnic_type': 'baremetal',
        'binding:profile': {
          local_link_information: [{ switch_id: 'leaf1', port_id: 'Ethernet1', switch_info: 'leaf1' }],
        },
      }),
    ]);
  });

  test('again is nothing; the next network takes the place of the last; isolated is none', async () => {
    await go({ purpose: 'provisioning' });
    const [first] = all();
    await go({ purpose: 'provisioning' });
    expect(all().map(({ id }) => id)).toEqual([first?.id]);
    await go({ purpose: 'cleaning' });
    expect(inNetwork('provision-net')).toEqual([]);
    expect(inNetwork('clean-net')).toEqual(['52:54:00:00:00:01 ACTIVE other']);
    await go('isolated');
    expect(all()).toEqual([]);
  });

  test('a switch that Neutron has no driver for is told at once, with port and switch, and mended by the next try', async () => {
    neutron.state.switches.clear();
    await expect(go({ purpose: 'provisioning' })).rejects.toThrow(
      /Neutron failed to bind port \S+ of Neutron to 52:54:00:00:00:01 at .*"switch_id":"leaf1".*compare switch_id and port_id/,
    );
    neutron.state.switches.add('leaf1');
    await go({ purpose: 'provisioning' });
    expect(inNetwork('provision-net')).toEqual(['52:54:00:00:00:01 ACTIVE other']);
  });

  test('a port that never comes up is told with its state', async () => {
    neutron.state.looks = Number.POSITIVE_INFINITY;
    await expect(go({ purpose: 'provisioning' })).rejects.toThrow(/it is DOWN after 2 s, not ACTIVE/);
  });

  test('names of networks that are none, or two', async () => {
    neutron.addNetwork('clean-net');
    await expect(go({ purpose: 'cleaning' })).rejects.toThrow('Neutron has 2 networks clean-net: give a UUID');
    neutron.state.networks.clear();
    await expect(go({ purpose: 'cleaning' })).rejects.toThrow('Neutron has no network clean-net');
    expect(all()).toEqual([]);
  });

  test('ports without a switch are a fault before anything is made', async () => {
    const ports = [port(1, { localLinkConnection: { switch_id: 'leaf1' } }), port(2)];
    await expect(go({ purpose: 'provisioning' }, ports)).rejects.toThrow(
      '52:54:00:00:00:01: local_link_connection lacks port_id',
    );
    expect(neutron.requests).toEqual([]);
  });
});

describe('tenants’ networks', () => {
  test('a VIF is a port of Neutron: bound to one of the node’s, with its MAC address, and let go of', async () => {
    const blue = neutron.addPort(neutron.addNetwork('blue', 'physnet1'), { device_id: 'an instance', name: 'web' });
    const before = blue.mac_address;
    await go({ purpose: 'provisioning' });
    const placements = await go(tenant(blue.id));
    // the port that boots comes last
    expect(placements.map((each) => each.network)).toEqual([null, blue.id]);
    expect(inNetwork('provision-net')).toEqual([]);
    expect(blue).toMatchObject({
      mac_address: '52:54:00:00:00:02',
      device_id: 'an instance',
      name: 'web',
      status: 'ACTIVE',
      'binding:host_id': nodeUuid,
    });
    await go('isolated');
    expect(blue).toMatchObject({ status: 'DOWN', 'binding:host_id': '', 'binding:profile': {} });
    expect(blue.mac_address).not.toBe('52:54:00:00:00:02');
    expect(before).not.toBe('52:54:00:00:00:02');
    expect(all()).toEqual([blue]);
  });

  test('a VIF that is named as Baton names its own is let go of, and never taken for one', async () => {
    const network = [...neutron.state.networks.values()].find(({ name }) => name === 'provision-net');
    const named = neutron.addPort(network?.id ?? '', { name: 'baton x', device_id: '', device_owner: '' });
    await go(tenant(named.id), [port(1)]);
    await go({ purpose: 'provisioning' }, [port(1)]);
    expect(named).toMatchObject({ 'binding:host_id': '', 'binding:vif_type': 'unbound' });
    expect(all()).toHaveLength(2);
    await go(tenant(named.id), [port(1)]);
    await go('isolated', [port(1)]);
    expect(named).toMatchObject({ 'binding:host_id': '', 'binding:vif_type': 'unbound' });
    expect(all()).toEqual([named]);
  });

  test('several go to ports of their physical networks; one that finds no place is a fault, and nothing is bound', async () => {
    const ports = [port(1, { physicalNetwork: 'physnet1' }), port(2, { physicalNetwork: 'physnet2' })];
    const one = neutron.addPort(neutron.addNetwork('one', 'physnet1'));
    const two = neutron.addPort(neutron.addNetwork('two', 'physnet2'));
    const placements = await go(tenant(two.id, one.id), ports);
    expect(placements.map((each) => each.network)).toEqual([one.id, two.id]);
    expect(one['binding:profile']).toMatchObject({ physical_network: 'physnet1' });
    const third = neutron.addPort(neutron.addNetwork('three', 'physnet3'));
    await go('isolated', ports);
    await expect(go(tenant(third.id), ports)).rejects.toThrow(`VIF ${third.id}: not enough free physical ports`);
    expect(third['binding:vif_type']).toBe('unbound');
  });

  test('a port group is bound with all its members and its mode', async () => {
    const ports = [port(1, { portgroupUuid: 'g1' }), port(2, { portgroupUuid: 'g1' })];
    const blue = neutron.addPort(neutron.addNetwork('blue'));
    await go(tenant(blue.id), ports);
    expect(blue).toMatchObject({
      mac_address: group.address,
      'binding:profile': {
        local_link_information: ports.map((each) => each.localLinkConnection),
        local_group_information: {
          id: 'g1',
          name: 'bond0',
          bond_mode: '802.3ad',
          bond_properties: { bond_miimon: 100, bond_lacp_rate: 'fast' },
        },
      },
    });
  });

  describe('tell the instance of its links', () => {
    const dataOf = (vifs: readonly string[], ports = twoPorts, groups = [group]) =>
      connector.networkData({ nodeUuid, ports, groups, destination: tenant(...vifs) });
    const v4 = (more: object) => neutron.addSubnet({ ip_version: 4, cidr: '10.1.0.0/23', enable_dhcp: true, ...more });

    test('nothing where DHCP alone finds the way', async () => {
      const fixed = [{ subnet_id: v4({}), ip_address: '10.1.0.5' }];
      const plain = neutron.addPort(neutron.addNetwork('plain'), { fixed_ips: fixed });
      expect(await dataOf([plain.id], [port(1)])).toBeUndefined();
      expect(await dataOf([], [port(1)])).toBeUndefined();
    });

    test('a bond with a trunk’s VLANs, addresses fixed and by DHCP, routes and name servers', async () => {
      const ports = [port(1, { portgroupUuid: 'g1' }), port(2, { portgroupUuid: 'g1' })];
      const fixed = v4({
        enable_dhcp: false,
        gateway_ip: '10.1.0.1',
        dns_nameservers: ['10.1.0.2'],
        host_routes: [{ destination: '10.9.0.0/16', nexthop: '10.1.0.9' }],
      });
      const six = { ip_version: 6, cidr: 'fd00:7::/64', enable_dhcp: true, ipv6_address_mode: 'slaac' };
      const sixth = neutron.addSubnet(six);
      const storage = neutron.addNetwork('storage');
      const sub = neutron.addPort(storage, { fixed_ips: [{ subnet_id: sixth, ip_address: 'fd00:7::5' }] });
      const sub_ports = [
        { port_id: sub.id, segmentation_id: 700, segmentation_type: 'vlan', mac_address: sub.mac_address } as const,
      ];
      const parent = neutron.addPort(neutron.addNetwork('blue'), {
        fixed_ips: [{ subnet_id: fixed, ip_address: '10.1.0.5' }],
        trunk_details: { trunk_id: 't', sub_ports },
      });
      const data = await dataOf([parent.id], ports);
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
      const two = neutron.addPort(neutron.addNetwork('two'), {
        fixed_ips: ['10.1.0.5', '10.1.0.6'].map((ip_address) => ({ subnet_id: subnet, ip_address })),
      });
      const common = { link: 'port0', network_id: two.network_id, type: 'ipv4', netmask: '255.255.254.0' };
      expect((await dataOf([two.id], [port(1)]))?.['networks']).toEqual([
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
      const subnet = neutron.addSubnet({ ip_version: 6, cidr: 'fd00:7::/68', enable_dhcp: false });
      const six = neutron.addPort(neutron.addNetwork('six'), {
        fixed_ips: [{ subnet_id: subnet, ip_address: 'fd00:7::5' }],
      });
      expect((await dataOf([six.id], [port(1)]))?.['networks']).toMatchObject([
        { type: 'ipv6', ip_address: 'fd00:7::5', netmask: 'ffff:ffff:ffff:ffff:f000:0:0:0', routes: [] },
      ]);
      const gone = '00000000-0000-4000-8000-000000000001';
      await expect(dataOf([gone], [port(1)])).rejects.toMatchObject({ code: 'not_found' });
    });
  });

  test('one that its owner has deleted is told, and gone once the node is isolated', async () => {
    const blue = neutron.addPort(neutron.addNetwork('blue'));
    await go(tenant(blue.id));
    neutron.state.ports.delete(blue.id);
    await expect(go(tenant(blue.id))).rejects.toThrow(`Port ${blue.id} could not be found`);
    await go('isolated');
  });

  test('without VIFs no port is bound', async () => {
    await go({ purpose: 'provisioning' });
    expect((await go({ purpose: 'tenant', vifs: [] })).map((each) => each.network)).toEqual([null, null]);
    expect(all()).toEqual([]);
  });
});

test.each(['lost before', 'lost after'])(
  'a conductor that is lost at any request (%s it takes effect): the next one ends it, and nothing is left over',
  async (when) => {
    // the same network for ramdisk and tenant: the address is free again only when all is let go of
    const network = [...neutron.state.networks.values()].find(({ name }) => name === 'provision-net');
    const blue = neutron.addPort(network?.id ?? '');
    const moves: Destination[] = [
      { purpose: 'provisioning' },
      tenant(blue.id),
      { purpose: 'cleaning' },
      tenant(blue.id),
      'isolated',
    ];
    let cuts = 0;
    for (const [index, destination] of moves.entries()) {
      for (let request = 1, wasCut = true; wasCut; request += 1) {
        // from where the last move ended
        await go(moves[index - 1] ?? 'isolated');
        neutron.state.cutAt = { request, done: when === 'lost after' };
        await go(destination).catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
        });
        wasCut = neutron.state.cutAt === undefined;
        neutron.state.cutAt = undefined;
        cuts += wasCut ? 1 : 0;
        const next = connectTo();
        await go(destination, twoPorts, next);
        const own = all().filter(({ id }) => id !== blue.id);
        const isTenant = destination !== 'isolated' && 'vifs' in destination;
        expect(own, `move ${index}, request ${request}`).toHaveLength(destination === 'isolated' || isTenant ? 0 : 1);
        expect(blue['binding:host_id'], `move ${index}, request ${request}`).toBe(isTenant ? nodeUuid : '');
      }
    }
    expect(cuts).toBeGreaterThan(20);
  },
);

describe('Keystone', () => {
  const keystone = async (as: KeystoneLogin['as'], secret = 'open sesame'): Promise<KeystoneLogin> => {
    const secretFile = join(folder, 'secret');
    await writeFile(secretFile, `${secret}\n`, { mode: 0o600 });
    neutron.state.keystone = { username: 'ironic', password: 'open sesame' };
    return { url: `${neutron.url}/v3`, region: 'here', secretFile, as };
  };
  const byPassword = { username: 'ironic', userDomain: 'Default', project: 'service', projectDomain: 'Default' };

  test.each([byPassword, { applicationCredential: 'ironic' }])(
    'a token is asked for once, and the catalogue for Neutron: %j',
    async (as) => {
      const by = connectTo(await keystone(as));
      await go({ purpose: 'provisioning' }, twoPorts, by);
      await go('isolated', twoPorts, by);
      expect(neutron.requests.filter((each) => each.includes('/auth/tokens'))).toHaveLength(1);
    },
  );

  test('a token that was taken back is replaced; a wrong password is told without it', async () => {
    const by = connectTo(await keystone(byPassword));
    await go({ purpose: 'provisioning' }, twoPorts, by);
    neutron.state.tokens.clear();
    await go('isolated', twoPorts, by);
    expect(all()).toEqual([]);
    const wrong = connectTo(await keystone(byPassword, 'wrong'));
    await expect(go('isolated', twoPorts, wrong)).rejects.toMatchObject({ code: 'switch_error', retryable: false });
    await expect(go('isolated', twoPorts, wrong)).rejects.toThrow('gives no token: HTTP 401');
  });
});

test('Neutron that is not there is asked again later', async () => {
  const { url } = neutron;
  const gone = createNeutronConnector({
    url: url.replace(/:\d+$/, ':1'),
    caFile: undefined,
    keystone: undefined,
    networks: { provisioning: 'a', cleaning: 'b' },
  });
  connectors.push(gone);
  await expect(go('isolated', twoPorts, gone)).rejects.toMatchObject({ code: 'unavailable', retryable: true });
});
