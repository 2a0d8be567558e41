import { expect, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { parseXml } from '#conductor/networks/switches/netconf/xml.ts';
import { openconfig } from '#conductor/networks/switches/os/openconfig.ts';

const data = (inside: string): string => JSON.stringify(parseXml(`<rpc-reply><data>${inside}</data></rpc-reply>`));
const port = (inside: string, name = 'Ethernet1'): string => `<interface><name>${name}</name>${inside}</interface>`;
const outputsOf = (ports: string, instances = ''): string[] => [
  data(`<interfaces>${ports}</interfaces>`),
  data(`<network-instances>${instances}</network-instances>`),
];
const read = (ports: string, instances = '') => {
  const { ports: found, unread, vlans } = openconfig.read.parse(outputsOf(ports, instances));
  return { vlans, found: found.get('Ethernet1'), unread: unread?.get('Ethernet1') ?? [] };
};
const off = '<config><enabled>false</enabled></config>';
const on = '<config><enabled>true</enabled></config>';
const access = (vlan: number): string => `<interface-mode>ACCESS</interface-mode><access-vlan>${vlan}</access-vlan>`;
const switched = (config: string, state = ''): string =>
  `<ethernet><switched-vlan><config>${config}</config><state>${state}</state></switched-vlan></ethernet>`;
const trunk = (...vlans: string[]): string =>
  `<interface-mode>TRUNK</interface-mode>${vlans.map((vlan) => `<trunk-vlans>${vlan}</trunk-vlans>`).join('')}`;

test.each([
  [off + switched('', access(7)), 'ethernet switched-vlan state interface-mode ACCESS'],
  [off + switched('', '<access-vlan>7</access-vlan>'), 'ethernet switched-vlan state access-vlan 7'],
  [on + switched(access(7), access(8)), 'ethernet switched-vlan state access-vlan 8'],
  [on + switched(trunk('7', '8'), trunk('7..9')), 'ethernet switched-vlan state trunk-vlans 7..9'],
  [`${off}<state><enabled>true</enabled></state>`, 'state enabled true'],
  [`${off}<state><admin-status>UP</admin-status></state>`, 'state admin-status UP'],
  [`${off}<state><oper-status>UP</oper-status></state>`, 'state oper-status UP'],
  [`${off}<state><oper-status>TESTING</oper-status></state>`, 'state oper-status TESTING'],
  [
    `${off}<ethernet><state><aggregate-id>Port-Channel7</aggregate-id></state></ethernet>`,
    'ethernet state aggregate-id Port-Channel7',
  ],
  [
    `${off}<ethernet><authenticated-sessions><authenticated-session><mac>x</mac></authenticated-session></authenticated-sessions></ethernet>`,
    'ethernet authenticated-sessions authenticated-session mac x',
  ],
  [`${off}<ethernet><config><tunnel-vlan>7</tunnel-vlan></config></ethernet>`, 'ethernet config tunnel-vlan 7'],
  ['<config><enabled>false</enabled><vrf>blue</vrf></config>', 'config vrf blue'],
])('%s is not isolated, and quoted', (inside, line) => {
  const { found, unread } = read(port(inside));
  expect(found).toBe('other');
  expect(unread).toContain(line);
});

test('what is in effect and as configured says nothing more', () => {
  const up =
    '<state><enabled>true</enabled><admin-status>UP</admin-status><oper-status>UP</oper-status><mtu>9000</mtu></state>';
  expect(read(port(on + up + switched(access(7), access(7))))).toMatchObject({ found: portVlans(7), unread: [] });
  expect(read(port(on + up + switched(trunk('7..9'), trunk('7', '8', '9'))))).toMatchObject({
    found: portVlans(undefined, [7, 8, 9]),
    unread: [],
  });
  const down =
    '<state><enabled>false</enabled><admin-status>DOWN</admin-status><oper-status>LOWER_LAYER_DOWN</oper-status></state>';
  expect(read(port(off + down + switched('', '')))).toMatchObject({ found: isolated, unread: [] });
  // enabled is what a port is that nothing else is said of
  expect(read(port(up)).found).toBe('other');
});

test('an interface that comes in two parts is both, and a leaf that is there twice is neither', () => {
  expect(read(port(off) + port(switched(access(7)))).found).toBe('other');
  expect(read(port(on) + port(switched(access(7)))).found).toEqual(portVlans(7));
  expect(read(port(on + switched(access(7) + access(8)))).found).toBe('other');
  expect(read(port(`${off}<config><enabled>true</enabled></config>`)).found).toBe('other');
});

const instance = (name: string, inside: string): string =>
  `<network-instance><name>${name}</name>${inside}</network-instance>`;
const member = (vlan: number, name: string): string =>
  `<vlans><vlan><vlan-id>${vlan}</vlan-id><members><member><state><interface>${name}</interface></state></member></members></vlan></vlans>`;

test('an instance of a network that lists a port, and a VLAN whose member it is, count too', () => {
  const blue = instance('blue', '<interfaces><interface><id>Ethernet1</id></interface></interfaces>');
  expect(read(port(off), blue)).toMatchObject({
    found: 'other',
    unread: ['network-instance blue interface Ethernet1'],
  });
  const unit = instance(
    'blue',
    '<interfaces><interface><id>x</id><config><interface>Ethernet1.7</interface></config></interface></interfaces>',
  );
  expect(read(port(off), unit).unread).toEqual(['network-instance blue interface Ethernet1.7']);
  const usual = instance('default', '<interfaces><interface><id>Ethernet1</id></interface></interfaces>');
  expect(read(port(off), usual).found).toEqual(isolated);
  const wire = (place: string, name: string): string =>
    `<connection-points><connection-point><endpoints><endpoint><local><${place}><interface>${name}</interface></${place}></local></endpoint></endpoints></connection-point></connection-points>`;
  for (const each of [wire('config', 'Ethernet1'), wire('state', 'Ethernet1.7')])
    expect(read(port(off), instance('default', each)).found).toBe('other');
  expect(read(port(off), instance('blue', wire('config', 'Ethernet10'))).found).toEqual(isolated);
  const members = instance('default', member(7, 'Ethernet1'));
  expect(read(port(off), members).unread).toEqual(['network-instance default vlan 7 member Ethernet1']);
  expect(read(port(on + switched(access(7))), members)).toMatchObject({ found: portVlans(7), unread: [] });
  expect(read(port(on + switched(access(8))), members).found).toBe('other');
});

test('a member in effect is a member, and a mode that is told in two ways is none of Baton’s', () => {
  const of = (ports: string) => [...(openconfig.bonds?.members(outputsOf(ports)) ?? [])];
  const lag = (inside: string): string => port(`<aggregation>${inside}</aggregation>`, 'Port-Channel7');
  const inBond = port('<ethernet><state><aggregate-id>Port-Channel7</aggregate-id></state></ethernet>');
  const lacp = { name: 'Port-Channel7', mode: 'lacp', acrossPair: false };
  expect(of(inBond + lag('<config><lag-type>LACP</lag-type></config>'))).toEqual([['Ethernet1', lacp]]);
  expect(
    of(inBond + lag('<config><lag-type>LACP</lag-type></config><state><lag-type>STATIC</lag-type></state>')),
  ).toEqual([['Ethernet1', { ...lacp, mode: 'other' }]]);
});

test('a VLAN whose id is not a number makes them unknown', () => {
  expect(read('', instance('default', '<vlans><vlan><vlan-id>blue</vlan-id></vlan></vlans>')).vlans).toBe('unknown');
});
