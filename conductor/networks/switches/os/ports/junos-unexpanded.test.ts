import { expect, test } from 'vitest';
import { junos } from '#conductor/networks/switches/os/junos.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const terse =
  'ge-0/0/1                up    down\nxe-0/0/10:1             up    down\nvme                     up    down\n';
const vlans = 'set vlans v100 vlan-id 100\n';
const access = 'unit 0 family ethernet-switching vlan members 100';

function read(inherited: string, written: string, ofVlans = vlans): unknown {
  return junos.read.parse([terse, inherited, ofVlans, written, `set version 21.4R3\n${ofVlans}`]).ports.get('ge-0/0/1');
}

test.each([
  ['an inherited text without what is written', '', `set interfaces ge-0/0/1 ${access}\n`],
  ['a group of the port that nothing is shown of', ...twice('set interfaces ge-0/0/1 apply-groups ACCESS\n')],
  ['a group of all interfaces that nothing is shown of', ...twice('set interfaces apply-groups ACCESS\n')],
])('%s is no isolation', (_what, inherited, written) => {
  expect(read(inherited, written)).toBe('other');
});

test.each(['*', 'ge-0/0/?', 'ge-0/0/[!5]', '<ge-*>', '(ge|xe)-0/0/1', 'ge-*', 'ge-0/0/[0-5]'])(
  'a range with member %s may name the port',
  (member) => {
    const range = `set interfaces interface-range X member "${member}"\nset interfaces interface-range X ${access}\n`;
    expect(read(range, range)).toBe('other');
  },
);

test.each(['ge-0/0/1.0 mapping swap', 'ge-0/0/*', 'all', 'X'])('a VLAN with interface %s may name the port', (name) => {
  expect(read('', '', `${vlans}set vlans v100 interface ${name}\n`)).toBe('other');
});

test('a channel is in the range that ends at its port', () => {
  const range = `set interfaces interface-range X member-range xe-0/0/0 to xe-0/0/10\nset interfaces interface-range X ${access}\n`;
  expect(junos.read.parse([terse, range, vlans, range, `set version 21.4R3\n${vlans}`]).ports.get('xe-0/0/10:1')).toBe(
    'other',
  );
});

test('a port without any of these is isolated, which shows that the others are not for another reason', () => {
  const text = 'set interfaces ge-0/0/1 description server\n';
  expect(read(text, text)).toEqual({ untagged: undefined, tagged: [] });
});

test('a line of a network that a group or a range gives, expanded or not, is no isolation', () => {
  const networks = [
    'unit 0 family ethernet-switching vlan members',
    'unit 0 family inet address',
    'unit 7 vlan-id',
    'native-vlan-id',
    'ether-options 802.3ad',
  ];
  const harmless = ['description server', 'mtu 9216', 'ether-options auto-negotiation'];
  const word = fc.stringMatching(/^[a-z]{1,5}[0-9]{1,3}$/);
  const given = fc.tuple(fc.constantFrom(...networks), word).map(([line, last]) => `${line} ${last}`);
  const set = (name: string, lines: readonly string[]): string =>
    lines.map((line) => `set interfaces ${name} ${line}\n`).join('');
  fc.assert(
    fc.property(fc.subarray(harmless), fc.array(given, { minLength: 1, maxLength: 3 }), (own, lines) => {
      const mine = set('ge-0/0/1', own);
      const range = set('interface-range X', ['member-range ge-0/0/0 to ge-0/0/9', ...lines]);
      const group = set('ge-0/0/1', ['apply-groups ACCESS']);
      expect(read(mine, mine)).toEqual({ untagged: undefined, tagged: [] });
      const readings = [
        read(`${mine}${group}${set('ge-0/0/1', lines)}`, `${mine}${group}`),
        read(`${mine}${range}${set('ge-0/0/1', lines)}`, `${mine}${range}`),
        read(`${mine}${range}`, `${mine}${range}`),
        read(`${mine}${group}`, `${mine}${group}`),
      ];
      for (const reading of readings) expect(reading).not.toEqual({ untagged: undefined, tagged: [] });
    }),
  );
});

function twice(text: string): [string, string] {
  return [text, text];
}
