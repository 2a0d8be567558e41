import { expect, test } from 'vitest';
import { linesNaming } from '#conductor/networks/switches/command-line/lines/named-elsewhere.ts';

const naming = (line: string, portId: string): boolean =>
  (linesNaming(`session 1\n  ${line}\n`, [portId], [/^source /]).get(portId) ?? []).length > 0;

test.each([
  ['destination interface 1/1/4', '1/1/4', true],
  ['destination interface 1/1/4', '1/1/40', false],
  ['destination interface 1/1/40', '1/1/4', false],
  ['destination interface 1/1/1-1/1/2,1/1/4', '1/1/2', true],
  ['destination interface 1/1/1-1/1/2,1/1/4', '1/1/3', false],
  ['destination interface 1/1/1-1/1/2,1/1/4', '1/1/4', true],
  ['destination interface 1/1/1-4', '1/1/3', true],
  ['destination interface 1/1/47-2/1/2', '1/1/48', true],
  ['destination interface 1/1/47-2/1/2', '2/1/3', false],
  ['destination interface 1/1/6', '1/1/6:1', false],
  ['destination interface 1/1/6:1-1/1/6:3', '1/1/6:2', true],
  ['destination interface lag 7', 'lag7', true],
  ['destination interface lag7', 'lag7', true],
  ['destination interface lag 70', 'lag7', false],
  ['destination interface lag 5-lag 9', 'lag7', true],
  ['discovery-interface ethernet1/1/25,1/1/29', 'ethernet1/1/29', true],
  ['discovery-interface ethernet1/1/49-1/1/52', 'ethernet1/1/50', true],
  ['discovery-interface ethernet 1/1/13', 'ethernet1/1/13', true],
  ['discovery-interface ethernet1/1/49-1/1/52', 'ethernet1/1/5', false],
  ['destination interface port-channel10', 'port-channel10', true],
  ['destination interface port-channel 1,10', 'port-channel10', true],
  ['vlan 1-200', '1/1/1', false],
  ['vlan 1-200', 'lag7', false],
  ['lag 7', 'port-channel7', false],
  ['ip route 1.1.1.0/24 192.0.2.1', '1/1/1', false],
  ['ntp server 2001:1/1/1', '1/1/1', false],
  ['source interface 1/1/4 both', '1/1/4', false],
])('%s names %s: %s', (line, portId, expected) => {
  expect(naming(line, portId)).toBe(expected);
});

test('comments and the sections of interfaces are left out', () => {
  const config = [
    'system interface-group 1 speed 10g',
    '    !interface group 1 contains ports 1/1/1-1/1/12',
    'interface 1/1/3',
    '    portfilter 1/1/2',
    '!',
    '    ip address 192.0.2.1/31',
    'vsx',
    '    inter-switch-link 1/1/2',
  ].join('\n');
  expect(linesNaming(config, ['1/1/1', '1/1/2', '1/1/3'], [])).toEqual(
    new Map([
      ['1/1/1', []],
      ['1/1/2', ['inter-switch-link 1/1/2']],
      ['1/1/3', []],
    ]),
  );
});
