import { expect, test } from 'vitest';
import { isIsolated, portVlans } from '#conductor/model/port-vlans.ts';
import { cumulus } from '#conductor/networks/switches/os/cumulus.ts';
import { mayMean, namesIn, ofKind } from '#conductor/networks/switches/os/ports/cumulus-keys.ts';

const ports = ['swp1', 'swp2', 'swp3', 'swp1s0', 'swp1s1', 'swp4', 'bond1'];

function parse(set: object, shown: object = {}) {
  const interfaces = { ...Object.fromEntries(ports.map((port) => [port, { type: 'swp' }])), ...shown };
  const outputs = [JSON.stringify(interfaces), JSON.stringify([{ set }])];
  const { ports: found, unread } = cumulus.read.parse(outputs);
  return { found, unread, members: cumulus.bonds?.members(outputs) };
}
const isolatedIn = (set: object, shown?: object) =>
  ports.filter((port) => isIsolated(parse(set, shown).found.get(port) ?? 'other'));
const inVlan = { bridge: { domain: { br_default: { access: 10 } } } };

test.each([
  ['swp1', ['swp1']],
  ['swp1-3', ['swp1', 'swp2', 'swp3']],
  ['swp1-swp3', ['swp1', 'swp2', 'swp3']],
  ['swp1s0-swp1s2', ['swp1s0', 'swp1s1', 'swp1s2']],
  ['swp1s0-1,swp5', ['swp1s0', 'swp1s1', 'swp5']],
  ['swp1-2s0-1', ['swp1s0', 'swp1s1', 'swp2s0', 'swp2s1']],
  ['swp[1-2,5],bond1', ['swp1', 'swp2', 'swp5', 'bond1']],
  ['swp1-2, 5', ['swp1', 'swp2', 'swp5']],
  ['bond1,3-4', ['bond1', 'bond3', 'bond4']],
  ['peerlink.4094', ['peerlink.4094']],
  ['swp1.10-11', ['swp1.10', 'swp1.11']],
  ['vlan10_l3', ['vlan10_l3']],
  ['lo', ['lo']],
])('%s', (key, names) => expect(namesIn(key)).toEqual(names));

test.each([
  'swp1..3',
  'swp1s0-swp2s3',
  'swp3-1',
  'swp1-99999',
  'swp1-100s0-99',
  'all',
  '*',
  'swp*',
  'swp',
  '',
  'swp1,all',
  'eth0,swp1..3',
  'swp1:3',
  'swp[1-',
  '-3',
])('%s is a form that is not known: it counts for any port', (key) => {
  expect(namesIn(key)).toBeUndefined();
  expect(mayMean(key, 'swp2')).toBe(true);
  const said = isolatedIn({ interface: { [key]: inVlan } });
  expect(said.filter((port) => port.startsWith('swp'))).toEqual([]);
  // a list of ports says no less
  const member = isolatedIn({ interface: { bond1: { bond: { member: { [key]: {} } } } } });
  expect(member.filter((port) => port.startsWith('swp'))).toEqual([]);
});

test('a key of another kind of interface says nothing of ports', () => {
  expect(namesIn('vlan10-v0')).toBeUndefined();
  expect([mayMean('vlan10-v0', 'swp1'), ofKind('vlan10-v0', 'swp1')]).toEqual([false, false]);
  expect(namesIn('storage', new Set(['storage']))).toEqual(['storage']);
  expect([mayMean('swp1,all', 'bond1'), mayMean('lo,vlan10-v0', 'swp1')]).toEqual([true, false]);
  expect(isolatedIn({ interface: { 'vlan10-v0': {}, storage: {} } }, { storage: {} })).toEqual(ports);
});

test.each([
  ['null', null],
  ['a word', 'x'],
  ['a list', ['swp1']],
  ['a bridge of null', { bridge: null }],
  ['a domain of null', { bridge: { domain: { br_default: null } } }],
  ['a number', 7],
])('settings that are %s are not none', (_, settings) => {
  const { found, unread } = parse({ interface: { swp1: settings } });
  expect([found.get('swp1'), (unread?.get('swp1')?.length ?? 0) > 0]).toEqual(['other', true]);
});

test('what the switch shows of a port and is no tree is not none', () => {
  expect(parse({ interface: {} }, { swp1: null }).unread?.get('swp1')).toEqual(['in effect: null']);
});

test('members of a bond by each form, and one that is null, are none that is isolated', () => {
  for (const member of [{ 'swp1-swp2': {} }, { 'swp[1-2]': {} }, { swp1: null, swp2: null }]) {
    const { members, found } = parse({ interface: { bond1: { bond: { member } } } });
    expect([...(members?.keys() ?? [])]).toEqual(['swp1', 'swp2']);
    expect([found.get('swp1'), found.get('swp2')]).toEqual(['other', 'other']);
  }
  const odd = parse({ interface: { bond1: { bond: { member: { 'swp1..2': {} } } } } });
  expect(odd.members).toEqual(new Map());
  expect(odd.unread?.get('swp2')).toEqual(['nv set interface bond1 bond member swp1..2 (which may mean swp2)']);
});

test.each([[null], ['swp1'], [{ member: null }], [{ member: ['swp1'] }], [{ mode: 7 }]])(
  'bond settings %j are refused in words',
  (bond) => {
    expect(() => parse({ interface: { bond1: { bond } } })).toThrow(/bond settings of bond1 in a form that Baton does/);
  },
);

test('two ranges of which none is narrower are not weighed against each other', () => {
  const wide = { bridge: { domain: { br_default: { access: 20 } } } };
  const { found, unread } = parse({ interface: { 'swp1-2': inVlan, 'swp2-3': wide } });
  expect([found.get('swp2'), unread?.get('swp2')]).toEqual([
    'other',
    ['nv set interface swp1-2 and swp2-3, which overlap'],
  ]);
  expect(isIsolated(found.get('swp1') ?? 'other')).toBe(false);
});

test('ranges that speak of different things are all of a port, as NVUE writes what several ports share', () => {
  const up = { link: { state: { up: {} } } };
  const { found, unread } = parse({
    interface: { 'eth0,swp1-2': up, 'swp1-4': { type: 'swp' }, 'swp2-3': inVlan, 'swp2,4': { link: { mtu: 9216 } } },
  });
  expect([found.get('swp2'), unread?.get('swp2')]).toEqual([portVlans(10), undefined]);
  expect([found.get('swp3'), isIsolated(found.get('swp4') ?? 'other')]).toEqual([portVlans(10), true]);
  const bonded = parse({
    interface: { 'bond1-2': { bond: { mode: 'lacp' } }, 'bond0-1': { bond: { mode: 'static' } } },
  });
  expect(bonded.unread?.get('bond1')).toEqual(['nv set interface bond1-2 and bond0-1, which overlap']);
});

test.each([
  [
    {
      system: {
        'port-mirror': { session: { 1: { span: { destination: { swp1: {} }, 'source-port': { swp2: {} } } } } },
      },
    },
    'nv set system port-mirror session 1 span destination swp1',
  ],
  [
    { system: { 'port-mirror': { session: { 1: { span: { destination: 'swp1' } } } } } },
    'nv set system port-mirror session 1 span destination swp1',
  ],
  [
    { vrf: { blue: { router: { bgp: { neighbor: { 'swp1-swp1': {} } } } } } },
    'nv set vrf blue router bgp neighbor swp1-swp1',
  ],
  [
    { vrf: { blue: { router: { static: { '192.0.2.0/24': { via: { swp1: {} } } } } } } },
    'nv set vrf blue router static 192.0.2.0/24 via swp1',
  ],
  [{ interface: { tunnel7: { 'base-interface': 'swp1' } } }, 'nv set interface tunnel7 base-interface swp1'],
  [
    { bridge: { domain: { br_default: { port: ['swp1..2'] } } } },
    'nv set bridge domain br_default port swp1..2 (which may mean swp1)',
  ],
  [
    { bridge: { domain: { br_default: { member: 'all' } } } },
    'nv set bridge domain br_default member all (which may mean swp1)',
  ],
])('a port named elsewhere is not isolated: %j', (set, line) => {
  const { found, unread } = parse(set);
  expect([found.get('swp1'), unread?.get('swp1')]).toEqual(['other', [line]]);
});

test('802.1X of a port is not known, nor is it what lists of access, a description and a source of SPAN say', () => {
  expect(parse({ interface: { swp1: { dot1x: { eap: 'enabled' } } } }).unread?.get('swp1')).toEqual([
    'dot1x eap enabled',
  ]);
  const apart = {
    acl: { ACL1: { rule: { 1: { match: { 'in-interface': 'swp1' } } } } },
    service: { lldp: { interface: { swp1: {} } } },
    system: { 'port-mirror': { session: { 1: { span: { 'source-port': { swp1: {} }, destination: { swp4: {} } } } } } },
    interface: { swp2: { description: 'swp1' } },
  };
  expect(isolatedIn(apart)).toEqual(ports.filter((port) => port !== 'swp4'));
});

test('a port keeps the network of a range, whatever its own key, or that of a narrower range, adds', () => {
  const own = { link: { mtu: 9216 }, bridge: { domain: { br_default: { learning: 'on' } } } };
  const { found } = parse({ interface: { 'swp1-3': inVlan, 'swp2-3': { link: { mtu: 9216 } }, swp1: own } });
  expect(['swp1', 'swp2', 'swp3'].map((port) => isIsolated(found.get(port) ?? 'other'))).toEqual([false, false, false]);
  expect(['swp2', 'swp3'].map((port) => found.get(port))).toEqual([portVlans(10), portVlans(10)]);
});
