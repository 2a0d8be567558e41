import { expect, test } from 'vitest';
import { knownVlans } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { junos } from '#conductor/networks/switches/os/junos.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';
import { os10 } from '#conductor/networks/switches/os/os10.ts';

/** A VLAN that was not read may be the one that is looked for: it passes for neither there nor missing. */

function vlansOf({ read }: Pick<SwitchOs, 'read'>, command: string, answer: string, others: string) {
  return read.parse(read.commands.map((each) => (each.startsWith(command) ? answer : others))).vlans;
}
const eosVlans = (...vlans: string[]) =>
  vlansOf(
    eos,
    'show vlan',
    JSON.stringify({ vlans: Object.fromEntries(vlans.map((vlan) => [vlan, {}])) }),
    '{"switchports":{},"cmds":{}}',
  );
const junosVlans = (text: string) => junos.read.parse(['', '', text, '', 'set version 21.4R3']).vlans;

test('EOS', () => {
  expect(eosVlans('1', '10')).toEqual(new Set([1, 10]));
  for (const odd of ['10,20', '10-20', '4095', 'VLAN10', ''])
    expect([odd, eosVlans('1', odd)]).toEqual([odd, 'unknown']);
  expect(eosVlans()).toBe('unknown');
});

test('Junos', () => {
  expect(junosVlans('')).toEqual(new Set());
  const read = 'set vlans a vlan-id 10\nset vlans b vlan-id-list [ 20 22-23 ]\nset vlans c vlan-id none\n';
  expect(junosVlans(read)).toEqual(new Set([10, 20, 22, 23]));
  for (const odd of ['vlan-id all', 'vlan-id-list 20-x', 'vlan-id $VLAN', 'vlan-id 4095', 'vlan-id-list 10-9000'])
    expect([odd, junosVlans(`${read}set vlans d ${odd}\n`)]).toEqual([odd, 'unknown']);
});

test.each([iosXe, nxos, os10])('$name', (os) => {
  expect(vlansOf(os, 'show vlan', '1    default     active\n10   ten         active\n', 'end')).toEqual(
    new Set([1, 10]),
  );
  expect(vlansOf(os, 'show vlan', '1    default     active\n4095 odd         active\n', 'end')).toBe('unknown');
  expect(vlansOf(os, 'show vlan', 'VLAN Name Status\n', 'end')).toBe('unknown');
});

test('one that was not read makes them unknown, wherever it stands', () => {
  expect(knownVlans([1, 10])).toEqual(new Set([1, 10]));
  for (const vlans of [[], [undefined], [undefined, 1], [1, undefined, 10]]) expect(knownVlans(vlans)).toBe('unknown');
});
