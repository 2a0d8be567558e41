import { expect, test } from 'vitest';
import { isIsolated } from '#conductor/model/port-vlans.ts';
import { statesOf } from '#conductor/networks/switches/command-line/port-states.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { switchDrivers } from '#conductor/networks/switches/index.ts';
import { parseXml } from '#conductor/networks/switches/netconf/xml.ts';
import { aosCx } from '#conductor/networks/switches/os/aos-cx.ts';
import { cumulus } from '#conductor/networks/switches/os/cumulus.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { junos } from '#conductor/networks/switches/os/junos.ts';
import { linux } from '#conductor/networks/switches/os/linux.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';
import { openconfig } from '#conductor/networks/switches/os/openconfig.ts';
import { os10 } from '#conductor/networks/switches/os/os10.ts';
import { sonic } from '#conductor/networks/switches/os/sonic.ts';
import { vlansOf } from '#conductor/networks/switches/ovs-port-rows.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** Property over drawn mixtures of lines at a bond and at its member: a member that may be in a network is never read as isolated. */

interface System {
  readonly os: SwitchOs;
  readonly member: string;
  readonly bond: string;
  /** Lines of each, where the bond is in no network. */
  readonly joined: readonly string[];
  readonly isolated: readonly string[];
  /** Lines that change nothing, at either. */
  readonly apart: readonly string[];
  /** Lines of the bond, each of which may put it into a network; the last word is drawn. */
  readonly ofBond: readonly string[];
  /** The same, of the member. */
  readonly ofMember: readonly string[];
  readonly print: (member: readonly string[], bond: readonly string[]) => readonly string[];
}

const trunk = ['switchport trunk allowed vlan none', 'switchport mode trunk'];
const cisco = {
  joined: [...trunk, 'channel-group 7 mode active'],
  isolated: trunk,
  apart: ['description node', 'mtu 9216', 'spanning-tree portfast'],
  ofBond: ['switchport voice vlan', 'switchport vlan mapping', 'ip address', 'encapsulation dot1q', 'service instance'],
  ofMember: ['switchport voice vlan', 'service instance', 'encapsulation dot1q', 'source template', 'dot1x pae'],
};
const section = (name: string, lines: readonly string[]): string =>
  [`interface ${name}`, ...lines.map((line) => ` ${line}`)].join('\n');
const set = (name: string, lines: readonly string[]): string[] => lines.map((line) => `set interfaces ${name} ${line}`);
const treeOf = (lines: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(lines.map((line) => line.split(' ')).map(([key = '', ...rest]) => [key, rest.join(' ')]));

const systems: readonly System[] = [
  {
    os: nxos,
    member: 'Ethernet1/1',
    bond: 'port-channel7',
    ...cisco,
    print: (member, bond) => [
      `${section('Ethernet1/1', member)}\n${section('port-channel7', bond)}\ninterface mgmt0`,
      ['Ethernet1/1', 'port-channel7']
        .map(
          (name) =>
            `Name: ${name}\n  Switchport: Enabled\n  Operational Mode: down\n  Access Mode VLAN: 1 (default)\n  Trunking VLANs Allowed: none`,
        )
        .join('\n'),
      '1 default active',
    ],
  },
  {
    os: iosXe,
    member: 'GigabitEthernet1/0/1',
    bond: 'Port-channel7',
    ...cisco,
    print: (member, bond) => [
      `${section('GigabitEthernet1/0/1', member)}\n${section('Port-channel7', bond)}\nend`,
      '1 default active',
      ['Gi1/0/1', 'Po7']
        .map((name) => `Name: ${name}\nSwitchport: Enabled\nOperational Mode: down\nTrunking VLANs Enabled: NONE`)
        .join('\n\n'),
    ],
  },
  {
    os: eos,
    member: 'Ethernet1',
    bond: 'Port-Channel7',
    ...cisco,
    print: (member, bond) => {
      const port = { enabled: true, switchportInfo: { mode: 'trunk', trunkAllowedVlans: 'NONE' } };
      const cmds = (lines: readonly string[]) => ({ cmds: Object.fromEntries(lines.map((line) => [line, null])) });
      return [
        JSON.stringify({ switchports: { Ethernet1: port, 'Port-Channel7': port } }),
        '{"vlans":{"1":{}}}',
        JSON.stringify({ cmds: { 'interface Ethernet1': cmds(member), 'interface Port-Channel7': cmds(bond) } }),
      ];
    },
  },
  {
    os: os10,
    member: 'ethernet1/1/1',
    bond: 'port-channel7',
    joined: ['no switchport', 'channel-group 7 mode active'],
    isolated: ['no switchport'],
    apart: cisco.apart,
    ofBond: ['ip address', 'switchport access vlan', 'virtual-network', 'vlan-stack'],
    ofMember: ['ip address', 'virtual-network', 'vlan-stack', 'dot1x port-control'],
    print: (member, bond) => {
      const config = `${section('ethernet1/1/1', member)}\n!\n${section('port-channel7', bond)}`;
      return [config, '* 1 Active', `${config}\n!\nsupport-assist`];
    },
  },
  {
    os: aosCx,
    member: '1/1/1',
    bond: 'lag7',
    joined: ['lag 7'],
    isolated: ['routing'],
    apart: ['description node', 'mtu 9198', 'no shutdown'],
    ofBond: ['vlan access', 'vlan trunk allowed', 'ip address', 'vrf attach', 'vlan translate'],
    ofMember: ['vlan translate', 'port-access', 'mvrp', 'aaa authentication port-access'],
    print: (member, bond) => [
      `!Version ArubaOS-CX GL.10.13.0001\nvlan 1\n${section('1/1/1', member)}\n${section('lag 7', ['lacp mode active', ...bond])}\n!\nhttps-server vrf mgmt`,
      '1/1/1     --      routed 25G-DAC3       yes     up                              25000\nlag7      --      routed --       yes     up     25000',
    ],
  },
  {
    os: junos,
    member: 'ge-0/0/1',
    bond: 'ae7',
    joined: ['ether-options 802.3ad ae7'],
    isolated: ['aggregated-ether-options lacp active'],
    apart: ['description node', 'mtu 9216'],
    ofBond: [
      'unit 0 family ethernet-switching vlan members',
      'unit 7 vlan-id',
      'native-vlan-id',
      'unit 0 family inet address',
    ],
    ofMember: ['unit 7 vlan-id', 'unit 0 family inet address', 'encapsulation', 'flexible-vlan-tagging'],
    print: (member, bond) => {
      const text = [...set('ge-0/0/1', member), ...set('ae7', bond)].join('\n');
      return [
        'ge-0/0/1  up  up\nae7  up  up\nvme  up  down',
        text,
        'set vlans x vlan-id 7',
        text,
        'set version 21.4R3\nset vlans x vlan-id 7',
      ];
    },
  },
  {
    os: sonic,
    member: 'Ethernet0',
    bond: 'PortChannel7',
    joined: [],
    isolated: [],
    apart: ['mtu 9100', 'description node'],
    ofBond: ['mode', 'access_vlan', 'tagged_vlans@', 'lag_network'],
    ofMember: ['mode', 'access_vlan', 'vrf_name'],
    print: (member, bond) => [
      JSON.stringify({
        PORT: { Ethernet0: treeOf(member) },
        PORTCHANNEL: { PortChannel7: treeOf(bond) },
        PORTCHANNEL_MEMBER: { 'PortChannel7|Ethernet0': {} },
      }),
    ],
  },
  {
    os: cumulus,
    member: 'swp1',
    bond: 'bond7',
    joined: [],
    isolated: [],
    apart: ['type swp', 'description node'],
    ofBond: ['router', 'ip', 'tunnel', 'bridge'],
    ofMember: ['router', 'ip', 'tunnel', 'bridge'],
    print: (member, bond) => [
      '{"swp1":{},"bond7":{}}',
      JSON.stringify([
        {
          set: {
            interface: {
              swp1: treeOf(member),
              bond7: { ...treeOf(bond), bond: { mode: 'lacp', member: { swp1: {} } } },
            },
          },
        },
      ]),
    ],
  },
  {
    os: linux,
    member: 'swp1',
    bond: 'bond7',
    joined: [],
    isolated: [],
    apart: ['mtu 9000'],
    ofBond: ['vlan', 'upper', 'tunnel'],
    // it is no port of the bridge
    ofMember: [],
    print: (_, bond) => {
      const has = (word: string): boolean => bond.some((line) => line.startsWith(`${word} `));
      const slave = { info_slave_kind: 'bridge', info_slave_data: { isolated: true, vlan_tunnel: has('tunnel') } };
      return [
        JSON.stringify([
          { ifname: 'br0', linkinfo: { info_kind: 'bridge', info_data: { vlan_filtering: 1 } } },
          { ifname: 'bond7', master: 'br0', linkinfo: { info_kind: 'bond', info_data: { mode: '802.3ad' }, ...slave } },
          { ifname: 'swp1', master: 'bond7', linkinfo: { info_slave_kind: 'bond' } },
          ...(has('upper') ? [{ ifname: 'x', link: 'bond7', linkinfo: { info_kind: 'macvlan' } }] : []),
        ]),
        JSON.stringify(has('vlan') ? [{ ifname: 'bond7', vlans: [{ vlan: 7 }] }] : []),
      ];
    },
  },
  {
    os: openconfig,
    member: 'Ethernet1',
    bond: 'Port-Channel7',
    joined: [],
    isolated: [],
    apart: ['<config><description>node</description></config>'],
    ofBond: [
      '<aggregation><switched-vlan><config><access-vlan>7</access-vlan></config></switched-vlan></aggregation>',
      '<subinterfaces><subinterface><index>7</index></subinterface></subinterfaces>',
      '<config><enabled>true</enabled></config>',
    ],
    ofMember: [
      '<subinterfaces><subinterface><index>7</index></subinterface></subinterfaces>',
      '<routed-vlan><config><vlan>7</vlan></config></routed-vlan>',
    ],
    print: (member, bond) => {
      const inside = (lines: readonly string[]): string => lines.map((line) => line.replace(/ \w+$/, '')).join('');
      const joined = '<ethernet><config><aggregate-id>Port-Channel7</aggregate-id></config></ethernet>';
      const lag =
        '<config><enabled>false</enabled></config><aggregation><config><lag-type>LACP</lag-type></config></aggregation>';
      const text = `<rpc-reply><data><interfaces><interface><name>Ethernet1</name>${joined}${inside(member)}</interface><interface><name>Port-Channel7</name>${lag}${inside(bond)}</interface></interfaces></data></rpc-reply>`;
      return [JSON.stringify(parseXml(text)), JSON.stringify(parseXml('<rpc-reply><data/></rpc-reply>'))];
    },
  },
];

test('each system that makes bonds by its lines is here', () => {
  const names = [...switchDrivers.values()].map(({ name }) => name).filter((name) => name !== 'ovs' && name !== 'fake');
  expect(systems.map(({ os }) => os.name).sort()).toEqual(names.sort());
});

test.each(systems.map((system) => [system.os.name, system] as const))(
  '%s',
  (_, { os, member, bond, joined, isolated, apart, ofBond, ofMember, print }) => {
    const reads = (mine: readonly string[], its: readonly string[]): boolean => {
      const outputs = print([...joined, ...mine], [...isolated, ...its]);
      const snapshot = { ...os.read.parse(outputs), members: os.bonds?.members(outputs) ?? new Map() };
      expect(snapshot.members.get(member)?.name).toBe(bond);
      const access = { endpoint: 'ssh:192.0.2.1', bondNumbers: { from: 7, to: 7 } };
      const [state] = statesOf({ os, rows: os, access }, snapshot, [member]);
      return isIsolated(state?.vlans ?? 'other');
    };
    const word = fc.stringMatching(/^[a-z]{1,6}[0-9]{1,3}$/);
    const drawn = (lines: readonly string[]) =>
      fc.array(
        fc.tuple(fc.constantFrom(...lines), word).map(([begins, last]) => `${begins} ${last}`),
        { minLength: 1, maxLength: 3 },
      );
    const none = fc.constant<readonly string[]>([]);
    fc.assert(
      fc.property(
        fc.subarray([...apart]),
        drawn(ofBond),
        ofMember.length === 0 ? none : drawn(ofMember),
        (more, atBond, atMember) => {
          expect(reads(more, more)).toBe(true);
          expect(reads(more, [...more, ...atBond])).toBe(false);
          expect(atMember.length > 0 && reads([...more, ...atMember], more)).toBe(false);
        },
      ),
    );
  },
);

test('ovs: a row that is not in all the isolated one may be in a network', () => {
  const isolated = { vlan_mode: 'trunk', trunks: 4095, tag: ['set', []], protected: true };
  expect(isIsolated(vlansOf(isolated))).toBe(true);
  const vlan = fc.integer({ min: 0, max: 4095 });
  const lists = fc.uniqueArray(vlan, { maxLength: 4 }).filter((list) => list.join() !== '4095');
  const others = fc.oneof(
    fc.record({ trunks: lists.map((list) => ['set', list]) }),
    fc.record({
      vlan_mode: fc.constantFrom('access', 'native-tagged', 'native-untagged', 'dot1q-tunnel', ['set', []]),
    }),
    fc.record({ protected: fc.constant(false) }),
  );
  const harmless = fc.record({ tag: fc.oneof(vlan, fc.constant(['set', []])), name: fc.string() });
  fc.assert(
    fc.property(others, harmless, (odd, more) => {
      expect(isIsolated(vlansOf({ ...isolated, ...odd, ...('vlan_mode' in odd ? { tag: more.tag } : more) }))).toBe(
        false,
      );
    }),
  );
  expect(isIsolated(vlansOf({ ...isolated, _uuid: ['uuid', 'p1'] }, new Set(['p1'])))).toBe(false);
});
