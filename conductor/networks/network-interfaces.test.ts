import { describe, expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import {
  bondsOfNode,
  networkInterfaceNames,
  networkInterfaces,
  parseNetworkInterface,
  planNetworkMove,
  validateNetwork,
} from '#conductor/networks/network-interfaces.ts';
import { type Networks, noNetworks } from '#conductor/networks/networks-file.ts';
import type { NetworkPort } from '#conductor/networks/vifs/network-port.ts';

const networks: Networks = {
  switches: [{ switchId: '00:11:22:AA:44:55', driver: 'ovs', endpoint: 'unix:/x' }],
  networks: [
    { name: 'p', vlans: portVlans(100) },
    { name: 't', vlans: portVlans(200) },
    { name: 'blue', vlans: portVlans(300) },
  ],
  defaults: { provisioning: 'p', cleaning: 'p', tenant: 't' },
};

const port = (overrides: Partial<NetworkPort> = {}): NetworkPort => ({
  uuid: overrides.address ?? 'the port',
  address: '52:54:00:00:00:01',
  pxeEnabled: true,
  portgroupUuid: null,
  physicalNetwork: null,
  localLinkConnection: { switch_id: '00:11:22:aa:44:55', port_id: 'tap1' },
  ...overrides,
});

describe('planNetworkMove', () => {
  test.each(['noop', 'flat'] as const)('%s switches nothing and needs no networks file', (networkInterface) => {
    const move = planNetworkMove({
      networkInterface,
      ports: [port({ localLinkConnection: {} })],
      networks: noNetworks,
      destination: { purpose: 'tenant' },
    });
    expect(move).toEqual([]);
  });

  test('switchport moves every port with a link, PXE-enabled or not', () => {
    const second = port({
      address: '52:54:00:00:00:02',
      pxeEnabled: false,
      localLinkConnection: { switch_id: '00:11:22:AA:44:55', port_id: 'tap2', switch_info: 'rack 7' },
    });
    const third = port({ address: '52:54:00:00:00:03', pxeEnabled: false, localLinkConnection: {} });
    const move = planNetworkMove({
      networkInterface: 'switchport',
      ports: [port(), second, third],
      networks,
      destination: { purpose: 'tenant' },
    });
    expect(
      move.map((target) => [target.port.address, target.portId, target.switchEntry.driver, target.network?.name]),
    ).toEqual([
      ['52:54:00:00:00:01', 'tap1', 'ovs', 't'],
      ['52:54:00:00:00:02', 'tap2', 'ovs', 't'],
    ]);
  });

  test('moves the bond in place of its members, and never to two networks', () => {
    const [entry] = networks.switches;
    if (!entry) throw new Error('no switch');
    const bonded = { ...networks, switches: [{ ...entry, ports: ['tap{1-8}'], bonds: { bond7: ['tap1', 'tap2'] } }] };
    const at = (address: string, portId: string) =>
      port({ address, portgroupUuid: 'g', localLinkConnection: { switch_id: entry.switchId, port_id: portId } });
    const ports = [at('a', 'tap1'), at('b', 'tap2')];
    const plan = (vif: { id: string; portUuid?: string }) =>
      planNetworkMove({
        networkInterface: 'switchport',
        ports,
        networks: bonded,
        destination: { purpose: 'tenant', vifs: [{ portUuid: null, portgroupUuid: null, ...vif }] },
      }).map(({ portId, network }) => [portId, network?.name]);
    expect(plan({ id: 'blue' })).toEqual([
      ['bond7', 'blue'],
      ['bond7', 'blue'],
    ]);
    expect(() => plan({ id: 'blue', portUuid: 'a' })).toThrow(
      "ports a, b are at bond7 together, which can't be on blue and no network: attach the VIF to their port group",
    );
    expect(bondsOfNode(ports, bonded)).toEqual([
      { switchId: entry.switchId, bond: 'bond7', members: ['tap1', 'tap2'] },
    ]);
  });

  test('switchport takes the networks that are attached, and isolates ports that get none', () => {
    const second = port({
      address: '52:54:00:00:00:02',
      pxeEnabled: false,
      localLinkConnection: { switch_id: '00:11:22:AA:44:55', port_id: 'tap2' },
    });
    const plan = (...vifs: [id: string, portUuid?: string][]) =>
      planNetworkMove({
        networkInterface: 'switchport',
        ports: [port(), second],
        networks,
        destination: {
          purpose: 'tenant',
          vifs: vifs.map(([id, portUuid = null]) => ({ id, portUuid, portgroupUuid: null })),
        },
      }).map(({ network }) => network?.name);
    expect(plan(['blue'])).toEqual(['blue', 'blue']);
    expect(plan(['blue', second.uuid])).toEqual([undefined, 'blue']);
    expect(plan(['blue'], ['t'])).toEqual(['t', 'blue']);
    expect(() => plan(['red'])).toThrow('tenant network red does not exist; networks are: p, t, blue');
    expect(() => plan(['blue'], ['t'], ['p'])).toThrow('VIF p: not enough free physical ports');
  });

  const bad: [name: string, ports: NetworkPort[], says: string][] = [
    ['no ports', [], 'no port can be switched: the node needs a port with local_link_connection'],
    [
      'only ports without a link',
      [port({ pxeEnabled: false, localLinkConnection: {} })],
      'no port can be switched: the node needs a port',
    ],
    [
      'a PXE-enabled port without a link',
      [port({ localLinkConnection: {} })],
      'port 52:54:00:00:00:01: local_link_connection lacks switch_id and port_id; it must name the switch',
    ],
    [
      'a link without port_id',
      [port({ localLinkConnection: { switch_id: '00:11:22:aa:44:55' } })],
      'port 52:54:00:00:00:01: local_link_connection lacks port_id;',
    ],
    [
      'a port_id that is not text',
      [port({ pxeEnabled: false, localLinkConnection: { switch_id: '00:11:22:aa:44:55', port_id: 7 } })],
      'lacks port_id;',
    ],
    [
      'an unknown switch',
      [port({ localLinkConnection: { switch_id: 'ff:ff', port_id: 'tap1' } })],
      'port 52:54:00:00:00:01: local_link_connection.switch_id ff:ff is not in the networks file; its switches are: 00:11:22:AA:44:55',
    ],
  ];
  test('refuses an uplink, and a port that the networks file does not list', () => {
    const [entry] = networks.switches;
    if (!entry) throw new Error('no switch');
    const guarded = { ...networks, switches: [{ ...entry, ports: ['tap*'], uplinks: ['tap1'] }] };
    const plan = (portId: string) =>
      planNetworkMove({
        networkInterface: 'switchport',
        ports: [port({ localLinkConnection: { switch_id: entry.switchId, port_id: portId } })],
        networks: guarded,
        destination: 'isolated',
      });
    expect(() => plan('tap1')).toThrow('local_link_connection.port_id tap1 is an uplink of the switch');
    expect(() => plan('eth0')).toThrow("eth0 is not among the switch's ports in the networks file, which are: tap*");
    expect(plan('tap2')).toHaveLength(1);
    const [switchEntry] = guarded.switches;
    const upwards = {
      ...guarded,
      switches: [{ ...entry, ...switchEntry, uplinks: ['bond*'], bonds: { bond7: ['tap2'] } }],
    };
    expect(
      validateNetwork({
        networkInterface: 'switchport',
        ports: [port({ localLinkConnection: { switch_id: entry.switchId, port_id: 'tap2' } })],
        networks: upwards,
      }).reason,
    ).toContain('local_link_connection.port_id tap2 is an uplink of the switch');
  });

  test.each(bad)('refuses %s', (_name, ports, says) => {
    expect(() =>
      planNetworkMove({ networkInterface: 'switchport', ports, networks, destination: { purpose: 'provisioning' } }),
    ).toThrow(says);
    expect(validateNetwork({ networkInterface: 'switchport', ports, networks })).toEqual({
      result: false,
      reason: expect.stringContaining(says),
    });
  });
});

describe('validateNetwork', () => {
  test('is content with good ports, and with anything under noop and flat', () => {
    expect(validateNetwork({ networkInterface: 'switchport', ports: [port()], networks })).toEqual({ result: true });
    expect(validateNetwork({ networkInterface: 'noop', ports: [], networks: noNetworks })).toEqual({ result: true });
    expect(validateNetwork({ networkInterface: 'flat', ports: [], networks: noNetworks })).toEqual({ result: true });
  });

  test('lists faults of networks and ports together', () => {
    const answer = validateNetwork({
      networkInterface: 'switchport',
      ports: [port({ localLinkConnection: {} }), port({ localLinkConnection: { switch_id: 'x', port_id: 'y' } })],
      networks,
      vifs: [{ id: 'red', portUuid: null, portgroupUuid: null }],
    });
    expect(answer.reason).toMatch(/port .* lacks .*; port .* is not in the networks file.*; tenant network red /);
  });

  test('says that switchport needs a networks file', () => {
    expect(validateNetwork({ networkInterface: 'switchport', ports: [port()], networks: noNetworks }).reason).toContain(
      'the conductor has no networks file',
    );
  });
});

describe('the table', () => {
  test('parses exactly its names', () => {
    expect(Object.keys(networkInterfaces)).toEqual([...networkInterfaceNames]);
    expect(networkInterfaceNames.map((name) => parseNetworkInterface(name))).toEqual([...networkInterfaceNames]);
    expect(() => parseNetworkInterface('ovn')).toThrow(
      'network_interface: ovn does not exist; network interfaces are: noop, flat, switchport, neutron',
    );
  });
});
