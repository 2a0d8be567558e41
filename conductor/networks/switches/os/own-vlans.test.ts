import { expect, test } from 'vitest';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { aosCx } from '#conductor/networks/switches/os/aos-cx.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { junos } from '#conductor/networks/switches/os/junos.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';
import { os10 } from '#conductor/networks/switches/os/os10.ts';
import { aosCxRest } from '#conductor/networks/switches/os/ports/aos-cx-rest.ts';
import { sonic } from '#conductor/networks/switches/os/sonic.ts';

/**
 * VLAN 100 is Baton's; to 200 somebody has given an address, to 300 a tunnel; 400 has another's name. Where a switch says more of
 * VLANs, those from 600 are of use to somebody.
 */

const eosVlan = (name: string, ...interfaces: string[]) => ({
  name,
  status: 'active',
  interfaces: Object.fromEntries(interfaces.map((each) => [each, { privatePromoted: false }])),
});
const sonicVlan = (vlan: number, description?: string) => [`Vlan${vlan}`, { vlanid: String(vlan), description }];
const sections = `vlan 1,100,200,300,400
vlan 100
  name baton-100
vlan 200
  name baton-200
vlan 300
  name baton-300
  vn-segment 10300
vlan 400
  name baton-100
`;

const iosConfig = `vlan configuration 300
 member vni 10300
interface GigabitEthernet1/0/1
 switchport mode access
interface Vlan200
 ip address 192.0.2.1 255.255.255.0
end
`;

const cases: readonly [string, Pick<SwitchOs, 'removeVlan'>, readonly unknown[]][] = [
  [
    'eos',
    eos,
    [
      {
        vlans: {
          1: eosVlan('default'),
          100: eosVlan('baton-100', 'Ethernet1'),
          200: eosVlan('baton-200', 'Cpu'),
          300: eosVlan('baton-300', 'Vx1'),
          400: eosVlan('baton-100'),
        },
      },
    ],
  ],
  ['nxos', nxos, [sections, 'interface Vlan200\n  ip address 192.0.2.1/24\n']],
  [
    'ios-xe',
    iosXe,
    [
      '1    default    active\n100  baton-100  active\n200  baton-200  active\n300  baton-300  active\n400  baton-100  active',
      iosConfig,
    ],
  ],
  [
    'os10',
    os10,
    [
      [
        'interface vlan100\n description "baton-100"\n no shutdown',
        'interface vlan200\n description "baton-200"\n no shutdown\n ip address 192.0.2.1/24',
        'interface vlan300\n description "baton-300"\n virtual-network 300',
        'interface vlan400\n description "baton-100"',
      ].join('\n!\n'),
    ],
  ],
  [
    'aos-cx',
    aosCx,
    [
      `${sections.replace('  vn-segment 10300\n', '')}interface vlan 200\n    ip address 192.0.2.1/24\ninterface vxlan 1\n    vni 300\n        vlan 300\n`,
    ],
  ],
  [
    'aos-cx over HTTPS',
    aosCxRest,
    [
      { 100: { name: 'baton-100' }, 200: { name: 'baton-200' }, 400: { name: 'baton-100' } },
      { '1/1/1': '/rest/v10.04/system/interfaces/1%2F1%2F1', vlan200: '/rest/v10.04/system/interfaces/vlan200' },
    ],
  ],
  [
    'junos',
    junos,
    [
      [
        'set vlans baton-100 vlan-id 100',
        'set vlans baton-200 vlan-id 200',
        'set vlans baton-200 l3-interface irb.200',
        'set vlans baton-300 vlan-id 300',
        'set vlans baton-300 vxlan vni 10300',
        'set vlans storage vlan-id 400',
      ].join('\n'),
    ],
  ],
  [
    'sonic',
    sonic,
    [
      {
        VLAN: {
          ...Object.fromEntries([
            ...[100, 200, 300, 700, 800].map((vlan) => sonicVlan(vlan, `baton-${vlan}`)),
            sonicVlan(400, 'baton-100'),
            sonicVlan(500),
          ]),
          Vlan600: { vlanid: '600', description: 'baton-600', dhcp_servers: ['192.0.2.9'] },
        },
        VLAN_MEMBER: { 'Vlan100|Ethernet0': { tagging_mode: 'untagged' } },
        STP_VLAN: { Vlan100: { enabled: 'true' } },
        DHCP_RELAY: { Vlan700: { dhcpv6_servers: ['2001:db8::9'] } },
        NTP: { global: { src_intf: 'eth0;Vlan800' } },
        // another's number is none of this one's
        NEIGH: { 'Vlan1000|192.0.2.7': {} },
        VLAN_INTERFACE: { Vlan200: {}, 'Vlan200|192.0.2.1/24': {} },
        VXLAN_TUNNEL_MAP: { 'vtep|map_300_Vlan300': { vlan: 'Vlan300', vni: '300' } },
      },
    ],
  ],
];

test.each(cases)('%s tells the VLANs that are Baton’s alone', (_, { removeVlan }, outputs) => {
  const texts = outputs.map((output) => (typeof output === 'string' ? output : JSON.stringify(output)));
  expect([...(removeVlan?.findOwn(texts) ?? [])]).toEqual([100]);
});

// https://www.cisco.com/c/en/us/td/docs/ios/fundamentals/configuration/guide/15_1s/cf_15_1s_book/cf_config-files.html: the
// last line of a running configuration is `end`
test('ios-xe removes no VLAN by an answer that stops short', () => {
  const table = '100  baton-100  active\n200  baton-200  active\n300  baton-300  active\n';
  const lines = iosConfig.trimEnd().split('\n');
  for (let count = 0; count < lines.length; count += 1) {
    const cut = lines.slice(0, count).join('\n');
    expect(() => iosXe.removeVlan?.findOwn([table, cut])).toThrow('does not end with "end"');
  }
  expect([...(iosXe.removeVlan?.findOwn([table, iosConfig]) ?? [])]).toEqual([100]);
});
