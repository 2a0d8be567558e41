import { expect, test } from 'vitest';
import { isIsolated } from '#conductor/model/port-vlans.ts';
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
import { aosCxRest } from '#conductor/networks/switches/os/ports/aos-cx-rest.ts';
import { sonic } from '#conductor/networks/switches/os/sonic.ts';
import { elsewhereLines } from '#conductor/networks/switches/os/testing/elsewhere-lines.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** Over drawn mixtures of lines, no port that may be in a network is read as isolated. */

interface System {
  readonly os: Pick<SwitchOs, 'name' | 'read'>;
  readonly port: string;
  /** Lines of a port that is in nothing. */
  readonly isolated: readonly string[];
  /** Lines that change nothing of that. */
  readonly apart: readonly string[];
  /** Each may put the port into a network, whatever else is said; the last word is drawn. */
  readonly networks: readonly string[];
  /** The same, without a word at the end. */
  readonly whole?: readonly string[];
  /** Lines elsewhere, each of which may put the port into a network. */
  readonly elsewhere?: readonly string[];
  /** Lines there that change nothing. */
  readonly elsewhereApart?: readonly string[];
  readonly print: (lines: readonly string[], elsewhere: readonly string[]) => readonly string[];
}

const cisco = ['switchport trunk allowed vlan none', 'switchport mode trunk'];
const ciscoApart = [
  'description node',
  'spanning-tree portfast',
  'mtu 9216',
  'no lldp transmit',
  'shutdown',
  'speed 1000',
];
const ciscoNetworks = [
  'switchport voice vlan',
  'switchport vlan mapping',
  'switchport',
  'inherit port-profile',
  'encapsulation dot1q',
  'ip address',
  'vrf member',
  'source template',
  'dot1x pae',
  'profile',
  'service instance',
  'switchport trunk group',
];
/** Lists that go on, and a second one. */
const ciscoLists = [
  'switchport trunk allowed vlan add 5',
  'switchport trunk allowed vlan 5',
  'switchport trunk allowed vlan all',
];
/** Lines that begin with `top` are not of the section, but stand beside it, perhaps with lines of their own. */
const top = 'top: ';
const tops = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => (line.startsWith(top) ? line.slice(top.length) : []));
const within = (lines: readonly string[]): string[] => lines.filter((line) => !line.startsWith(top));
const section = (name: string, lines: readonly string[]): string =>
  [`interface ${name}`, ...within(lines).map((line) => ` ${line}`), ...tops(lines)].join('\n');
const subinterface = (name: string): string => `${top}interface ${name}.7\n description`;

/** A tree from lines of keys, the last of which is the value. */
function treeOf(lines: readonly string[]): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const line of lines) {
    const keys = line.split(' ');
    let place = tree;
    for (const key of keys.slice(0, -2)) {
      const below = place[key];
      const next = (typeof below === 'object' && below !== null ? below : {}) as Record<string, unknown>;
      place[key] = next;
      place = next;
    }
    place[keys.at(-2) ?? ''] = keys.at(-1);
  }
  return tree;
}

const systems: readonly System[] = [
  {
    os: nxos,
    port: 'Ethernet1/1',
    isolated: cisco,
    apart: ciscoApart,
    networks: [...ciscoNetworks, subinterface('Ethernet1/1')],
    whole: [...ciscoLists, 'switchport monitor'],
    print: (lines) => [
      `${section('Ethernet1/1', lines)}\ninterface mgmt0`,
      'Name: Ethernet1/1\n  Switchport: Enabled\n  Operational Mode: down\n  Access Mode VLAN: 1 (default)\n  Trunking VLANs Allowed: none',
      '1 default active',
    ],
  },
  {
    os: iosXe,
    port: 'GigabitEthernet1/0/1',
    isolated: cisco,
    apart: ciscoApart,
    networks: [...ciscoNetworks, subinterface('GigabitEthernet1/0/1')],
    whole: ciscoLists,
    ...elsewhereLines.iosXe,
    print: (lines, elsewhere) => [
      [section('GigabitEthernet1/0/1', lines), ...elsewhere, 'end'].join('\n'),
      '1 default active',
      'Name: Gi1/0/1\nSwitchport: Enabled\nOperational Mode: down\nTrunking VLANs Enabled: NONE\n',
    ],
  },
  {
    os: eos,
    port: 'Ethernet1',
    isolated: cisco,
    apart: ciscoApart,
    networks: [...ciscoNetworks, subinterface('Ethernet1')],
    whole: ciscoLists,
    ...elsewhereLines.eos,
    print: (lines, elsewhere) => [
      '{"switchports":{"Ethernet1":{"enabled":true,"switchportInfo":{"mode":"trunk","trunkAllowedVlans":"NONE"}}}}',
      '{"vlans":{"1":{}}}',
      JSON.stringify({
        cmds: {
          ...Object.fromEntries(elsewhere.map((line) => [line, null])),
          'interface Ethernet1': { cmds: Object.fromEntries(within(lines).map((line) => [line, null])) },
          ...Object.fromEntries(
            tops(lines).map((text) => {
              const [head = '', ...below] = text.split('\n');
              return [head, { cmds: Object.fromEntries(below.map((line) => [line.trim(), null])) }];
            }),
          ),
        },
      }),
    ],
  },
  {
    os: os10,
    port: 'ethernet1/1/1',
    isolated: ['no switchport'],
    apart: ciscoApart,
    networks: [
      ...ciscoNetworks,
      'virtual-network',
      'channel-group 7 mode',
      'ipv6 nd',
      'dot1x port-control',
      subinterface('ethernet1/1/1'),
      `${top}monitor session 1\n destination interface ethernet1/1/1\n description`,
      `${top}vlt-domain 1\n discovery-interface ethernet1/1/25,1/1/1-1/1/2\n description`,
    ],
    print: (lines) => [
      section(
        'ethernet1/1/1',
        lines.filter((line) => !line.startsWith(top) || line.startsWith(`${top}interface`)),
      ),
      '* 1 Active',
      `${section('ethernet1/1/1', lines)}\n!\nsupport-assist`,
    ],
  },
  {
    os: aosCx,
    port: '1/1/1',
    isolated: ['routing'],
    apart: ['description node', 'no shutdown', 'mtu 9198', 'loop-protect', 'qos trust dscp'],
    networks: [
      'vlan access',
      'vlan trunk native',
      'vlan trunk allowed',
      'vlan translate',
      'vrf attach',
      'ip address',
      'ipv6 address',
      'lag',
      'aaa authentication port-access',
      'port-access',
      'mvrp',
      subinterface('1/1/1'),
      `${top}mirror session 1\n destination interface 1/1/4,1/1/1-1/1/2\n comment`,
      `${top}vsx\n inter-switch-link 1/1/1\n role`,
    ],
    print: (lines) => [
      `!Version ArubaOS-CX GL.10.13.0001\nvlan 1\n${section('1/1/1', lines)}\n!\nhttps-server vrf mgmt`,
      '1/1/1     --      routed 25G-DAC3       yes     up                              25000',
    ],
  },
  {
    os: { name: 'aos-cx over HTTPS', read: aosCxRest.read },
    port: '1/1/1',
    isolated: ['routing yes'],
    apart: ['description node', 'mtu 9198', 'qos dscp'],
    networks: [
      'vlan_mode',
      'vlan_tag',
      'vlan_trunks',
      'applied_vlan_tag',
      'vrf',
      'ip4_address',
      'ip6_address_link_local x',
      'vlan_translations x',
      'port_access_auth_role',
      'port_access_vlan_tag',
      `${top}ip6_addresses`,
      `${top}port_access_auth_configurations dot1x`,
    ],
    print: (lines) => [
      JSON.stringify({ '1/1/1': { ...treeOf(within(lines)), routing: lines.includes('routing yes') } }),
      '{"1":""}',
      JSON.stringify({ '1/1/1': treeOf(tops(lines)) }),
      'null',
      'null',
    ],
  },
  {
    os: junos,
    port: 'ge-0/0/1',
    isolated: [],
    apart: ['description node', 'mtu 9216', 'ether-options auto-negotiation', 'speed 1g'],
    networks: [
      'unit 0 family ethernet-switching vlan members',
      'unit 0 family inet address',
      'native-vlan-id',
      'encapsulation',
      'ether-options 802.3ad',
      'unit 7 vlan-id',
      'unit 0 family ethernet-switching',
      'unit 0 family ethernet-switching storm-control',
      'unit 0 family ethernet-switching recovery-timeout',
      'ether-options redundant-parent',
      'gigether-options redundant-parent',
      'flexible-vlan-tagging',
      'vlan-tagging',
    ],
    ...elsewhereLines.junos,
    print: (lines, elsewhere) => {
      const ranges = ['edge member ge-0/0/[0-3]', 'others member ge-0/0/9'].map(
        (range) => `interfaces interface-range ${range}`,
      );
      const all = [...lines.map((line) => `interfaces ge-0/0/1 ${line}`), ...ranges, ...elsewhere];
      const set = (form: RegExp) => all.flatMap((line) => (form.test(line) ? `set ${line}` : [])).join('\n');
      const interfaces = set(/^interfaces /);
      const vlans = `set vlans x vlan-id 7\n${set(/^vlans /)}`;
      return [
        'ge-0/0/1                up    up\nvme                     up    down',
        interfaces,
        vlans,
        interfaces,
        `set version 21.4R3\n${set(/^(?!interfaces |vlans )/)}\n${vlans}`,
      ];
    },
  },
  {
    os: cumulus,
    port: 'swp1',
    isolated: [],
    apart: ['type swp', 'link mtu 9216', 'description node', 'qos mapping x'],
    networks: [
      'bridge domain br_default access',
      'bridge domain br_lab access',
      'ip address',
      'ip vrf',
      'router ospf area',
      'tunnel mode',
      `${top}swp1.7 vlan`,
      `${top}base-interface swp1 uplink`,
    ],
    print: (lines) => [
      '{"swp1":{}}',
      JSON.stringify([
        {
          set: {
            interface: {
              'swp1-2': treeOf(within(lines)),
              ...treeOf(tops(lines).map((line) => line.replace(/^(base-interface swp1) uplink (.*)$/, '$2 $1'))),
            },
          },
        },
      ]),
    ],
  },
  {
    os: sonic,
    port: 'Ethernet0',
    isolated: [],
    apart: ['PORT Ethernet0 mtu 9100', 'CABLE_LENGTH AZURE Ethernet0 5m', 'PORT_QOS_MAP Ethernet0 pfc_enable 3'],
    networks: [
      'VLAN_MEMBER Vlan7|Ethernet0 tagging_mode',
      'INTERFACE Ethernet0 vrf_name',
      'INTERFACE Ethernet0|192.0.2.1/31 x',
      'PORTCHANNEL_MEMBER PortChannel1|Ethernet0 x',
      'VLAN_SUB_INTERFACE Ethernet0.7 vlan',
      'VLAN_SUB_INTERFACE Eth0.7 vlan',
      'PORT Ethernet0 mode',
      'VNET x|Ethernet0 y',
      'PORT Ethernet0 access_vlan',
      'PORT Ethernet0 tagged_vlans@',
      'PAC_PORT_CONFIG ethernet0 port_control_mode',
      'VLAN_STACKING Ethernet0,Ethernet4|7 x',
    ],
    print: (lines) => [JSON.stringify(treeOf(['PORT Ethernet0 speed 1', ...lines]))],
  },
  {
    os: linux,
    port: 'swp1',
    isolated: [],
    apart: ['mtu', 'qdisc'],
    networks: ['upper', 'vlan', 'tunnel', 'filter'],
    print: (lines) => {
      const has = (word: string): boolean => lines.some((line) => line.split(' ')[0] === word);
      const filter = { info_kind: 'bridge', info_data: { vlan_filtering: has('filter') ? 0 : 1 } };
      const port = { info_slave_kind: 'bridge', info_slave_data: { isolated: true, vlan_tunnel: has('tunnel') } };
      const links = [
        { ifname: 'br0', linkinfo: filter },
        { ifname: 'swp1', master: 'br0', linkinfo: port },
        ...(has('upper') ? [{ ifname: 'x', link: 'swp1', linkinfo: { info_kind: 'macvlan' } }] : []),
      ];
      return [JSON.stringify(links), JSON.stringify(has('vlan') ? [{ ifname: 'swp1', vlans: [{ vlan: 7 }] }] : [])];
    },
  },
  {
    os: openconfig,
    port: 'Ethernet1',
    isolated: [],
    apart: [
      '<config><description>node</description></config>',
      '<state><enabled>false</enabled><oper-status>DOWN</oper-status></state>',
    ],
    networks: [
      '<ethernet><switched-vlan><config><access-vlan>7</access-vlan></config></switched-vlan></ethernet>',
      '<ethernet><config><aggregate-id>x</aggregate-id></config></ethernet>',
      '<routed-vlan><config><vlan>7</vlan></config></routed-vlan>',
      '<subinterfaces><subinterface><index>7</index></subinterface></subinterfaces>',
      '<ethernet><switched-vlan><state><access-vlan>7</access-vlan></state></switched-vlan></ethernet>',
      '<state><enabled>true</enabled></state>',
      '<ethernet><state><aggregate-id>x</aggregate-id></state></ethernet>',
      '<config><enabled>true</enabled></config>',
    ],
    print: (lines) => {
      const inside = lines.map((line) => line.replace(/ \w+$/, '')).join('');
      const text = `<rpc-reply><data><interfaces><interface><name>Ethernet1</name><config><enabled>false</enabled></config>${inside}</interface></interfaces></data></rpc-reply>`;
      return [JSON.stringify(parseXml(text)), JSON.stringify(parseXml('<rpc-reply><data/></rpc-reply>'))];
    },
  },
];

test('each system that is read by its lines is here', () => {
  const names = [...switchDrivers.values()].map(({ name }) => name).filter((name) => name !== 'ovs' && name !== 'fake');
  expect(systems.map(({ os }) => os.name).sort()).toEqual([...names, 'aos-cx over HTTPS'].sort());
});

test.each(systems.map((system) => [system.os.name, system] as const))(
  '%s',
  (_, { os, port, isolated, apart, networks, whole = [], elsewhere = [], elsewhereApart = [], print }) => {
    const reads = (lines: readonly string[], more: readonly string[] = []): boolean =>
      isIsolated(os.read.parse(print(lines, more)).ports.get(port) ?? 'other');
    const word = fc.stringMatching(/^[a-z]{1,6}[0-9]{1,3}$/);
    const begun = fc.tuple(fc.constantFrom(...networks), word).map(([begins, last]) => `${begins} ${last}`);
    const line = whole.length === 0 ? begun : fc.oneof(begun, fc.constantFrom(...whole));
    expect(reads(isolated)).toBe(true);
    fc.assert(
      fc.property(fc.subarray([...apart]), fc.array(line, { minLength: 1, maxLength: 3 }), (more, unknown) => {
        expect(reads([...isolated, ...more])).toBe(true);
        expect(reads([...isolated, ...more, ...unknown])).toBe(false);
        expect(reads([...unknown, ...more, ...isolated])).toBe(false);
      }),
    );
    for (const each of elsewhere) expect([each, reads(isolated, [each])]).toEqual([each, false]);
    for (const each of elsewhereApart) expect([each, reads(isolated, [each])]).toEqual([each, true]);
    if (elsewhere.length === 0) return;
    const drawn = fc.array(fc.constantFrom(...elsewhere), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.subarray([...apart]), fc.shuffledSubarray([...elsewhereApart]), drawn, (more, others, named) => {
        expect(reads([...isolated, ...more], others)).toBe(true);
        expect(reads([...isolated, ...more], [...named, ...others])).toBe(false);
        expect(reads([...more, ...isolated], [...others, ...named])).toBe(false);
      }),
    );
  },
);
