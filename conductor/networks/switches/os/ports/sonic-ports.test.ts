import { expect, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { sonic } from '#conductor/networks/switches/os/sonic.ts';

const port = { alias: 'etp1', lanes: '0', speed: '1' };
const parse = (database: object) =>
  sonic.read.parse([JSON.stringify({ PORT: { Ethernet0: port, Ethernet4: {} }, ...database })]);
const withFields = (fields: object, more: object = {}) =>
  parse({ PORT: { Ethernet0: { ...port, ...fields } }, ...more });

test.each([
  [{ access_vlan: '100' }, 'PORT Ethernet0 access_vlan 100'],
  [{ untagged_vlan: 100 }, 'PORT Ethernet0 untagged_vlan 100'],
  [{ tagged_vlans: ['200', '300-302'] }, 'PORT Ethernet0 tagged_vlans ["200","300-302"]'],
  [{ 'tagged_vlans@': '200' }, 'PORT Ethernet0 tagged_vlans@ 200'],
  [{ access_vlan: null }, 'PORT Ethernet0 access_vlan null'],
  [{ tagged_vlans: 'all' }, 'PORT Ethernet0 tagged_vlans all'],
  [{ pvid: '7' }, 'PORT Ethernet0 pvid 7'],
  [{ mode: 'hybrid' }, 'mode hybrid'],
  [{ mode: null }, 'mode null'],
])('a port with %j in its own table is not isolated', (fields, line) => {
  const { ports, unread } = withFields(fields);
  expect([ports.get('Ethernet0'), unread?.get('Ethernet0')]).toEqual(['other', [line]]);
});

test('VLANs in its own table are known where its members say the same', () => {
  const VLAN_MEMBER = {
    'Vlan100|Ethernet0': { tagging_mode: 'untagged' },
    'Vlan200|Ethernet0': { tagging_mode: 'tagged' },
    'Vlan201|Ethernet0': { tagging_mode: 'tagged' },
  };
  const said = (fields: object) => withFields({ mode: 'trunk', ...fields }, { VLAN_MEMBER }).ports.get('Ethernet0');
  expect(said({ access_vlan: '100', 'tagged_vlans@': '200-201' })).toEqual(portVlans(100, [200, 201]));
  expect([said({ access_vlan: '200' }), said({ tagged_vlans: '200-202' }), said({ tagged_vlans: [100] })]).toEqual([
    'other',
    'other',
    'other',
  ]);
});

test.each([
  [{ VLAN: { Vlan7: { vlanid: '7', members: ['Ethernet0'] } } }, 'VLAN Vlan7 members'],
  [{ VLAN: { Vlan7: { 'members@': 'Ethernet4,Ethernet0' } } }, 'VLAN Vlan7 members@'],
  [{ PORTCHANNEL: { PortChannel7: { members: ['Ethernet0'] } } }, 'PORTCHANNEL PortChannel7 members'],
  [{ MIRROR_SESSION: { tap: { type: 'SPAN', dst_port: 'Ethernet0' } } }, 'MIRROR_SESSION tap dst_port'],
  [{ PAC_PORT_CONFIG: { Ethernet0: { port_control_mode: 'auto' } } }, 'PAC_PORT_CONFIG Ethernet0 port_control_mode'],
  [
    { PAC_PORT_CONFIG_TABLE: { ethernet0: { port_control_mode: 'auto' } } },
    'PAC_PORT_CONFIG_TABLE ethernet0 port_control_mode',
  ],
  [{ VLAN_SUB_INTERFACE: { 'Eth0.7|192.0.2.1/24': {} } }, 'VLAN_SUB_INTERFACE Eth0.7|192.0.2.1/24'],
  [{ VLAN_STACKING: { 'Ethernet4,Ethernet0|7': {} } }, 'VLAN_STACKING Ethernet4,Ethernet0|7'],
  [{ ACL_RULE: { 'T|R': { REDIRECT_ACTION: 'Ethernet0' } } }, 'ACL_RULE T|R REDIRECT_ACTION'],
  [{ VLAN: { Vlan7: { members: 'Ethernet4 Ethernet0' } } }, 'VLAN Vlan7 members'],
  [{ L2_GROUP: { '7': { port_list: 'Ethernet0;Ethernet4' } } }, 'L2_GROUP 7 port_list'],
  [{ L2_GROUP: { '7': { ports: { Ethernet0: { tagging: 'no' } } } } }, 'L2_GROUP 7 ports'],
  [{ L2_GROUP: { '7': { ports: [{ name: 'Ethernet0' }] } } }, 'L2_GROUP 7 ports'],
  [{ L2_GROUP: { 'Ethernet4;Ethernet0': {} } }, 'L2_GROUP Ethernet4;Ethernet0'],
])('%j puts a port into a network, or may', (database, line) => {
  const { ports, unread } = parse(database);
  expect([ports.get('Ethernet0'), unread?.get('Ethernet0')]).toEqual(['other', [line]]);
});

test.each([
  [{ L2_GROUP: { '7': { ports: 'Ethernet00 Ethernet04;myEthernet0' } } }],
  [{ MIRROR_SESSION: { tap: { src_port: 'Ethernet0,Ethernet4' } } }],
  [{ L2_GROUP: { '7': { description: 'once Ethernet0' } } }],
])('%j is of other ports', (database) => {
  expect(parse(database).ports.get('Ethernet0')).toEqual(isolated);
});

test('lists of members at the VLAN and the port channel say no more than the tables of members', () => {
  const { ports, unread } = parse({
    PORTCHANNEL: { PortChannel7: { admin_status: 'up', members: ['Ethernet4'] } },
    PORTCHANNEL_MEMBER: { 'PortChannel7|Ethernet4': {} },
    VLAN: { Vlan7: { vlanid: '7', members: ['Ethernet0', 'PortChannel7'] } },
    VLAN_MEMBER: { 'Vlan7|Ethernet0': { tagging_mode: 'untagged' }, 'Vlan7|PortChannel7': { tagging_mode: 'tagged' } },
  });
  expect(unread).toEqual(new Map());
  expect([...ports]).toEqual([
    ['Ethernet0', portVlans(7)],
    ['Ethernet4', 'other'],
    ['PortChannel7', portVlans(undefined, [7])],
  ]);
});

test('a VLAN that is named in another way makes them unknown', () => {
  expect(parse({ VLAN: { Vlan7: {}, blue: {} } }).vlans).toBe('unknown');
});

test('the mode of a port is set where it takes too little, before it becomes a member', () => {
  const lines = (sent: readonly string[]) => sent.filter((line) => line.includes('switchport mode'));
  const when = (table: string, name: string, modes: string, mode: string): string =>
    `case "$(sonic-db-cli CONFIG_DB hget '${table}|${name}' mode)" in ${modes}) ;; *) sudo -n config switchport mode ${mode} ${name} ;; esac`;
  expect(lines(sonic.access(['Ethernet0'], 100))).toEqual([
    when('PORT', 'Ethernet0', '""|None|access|trunk', 'access'),
  ]);
  expect(lines(sonic.trunk(['PortChannel7'], portVlans(100, [200])))).toEqual([
    when('PORTCHANNEL', 'PortChannel7', '""|None|trunk', 'trunk'),
  ]);
  expect(lines(sonic.isolate(['Ethernet0']))).toEqual([]);
  const order = sonic.access(['Ethernet0'], 100).map((line) => /member del|switchport mode|member add/.exec(line)?.[0]);
  expect(order).toEqual(['member del', 'switchport mode', 'member add']);
});

test.each([
  ['without a word', { PortChannel7: {} }, 'lacp'],
  ['of LACP', { PortChannel7: { static: 'false' } }, 'lacp'],
  ['that is static', { PortChannel7: { static: 'true' } }, 'static'],
  ['of a word that is not known', { PortChannel7: { static: 'maybe' } }, 'other'],
  ['that is not there', {}, 'other'],
])('a member of a port channel %s', (_what, PORTCHANNEL, mode) => {
  const database = JSON.stringify({ PORTCHANNEL, PORTCHANNEL_MEMBER: { 'PortChannel7|Ethernet0': {} } });
  expect(sonic.bonds?.members([database]).get('Ethernet0')).toEqual({ name: 'PortChannel7', mode, acrossPair: false });
});
