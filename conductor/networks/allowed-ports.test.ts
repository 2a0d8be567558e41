import { describe, expect, test } from 'vitest';
import { namesPort, portFault } from '#conductor/networks/allowed-ports.ts';

describe('namesPort', () => {
  const cases: [pattern: string, portId: string, names: boolean][] = [
    ['Ethernet1', 'Ethernet1', true],
    ['Ethernet1', 'Ethernet10', false],
    ['Ethernet{1-46}', 'Ethernet46', true],
    ['Ethernet{1-46}', 'Ethernet47', false],
    ['Ethernet{1-46}', 'Ethernet01', false],
    ['ge-{0-1}/0/{0-47}', 'ge-1/0/0', true],
    ['ge-{0-1}/0/{0-47}', 'ge-2/0/0', false],
    ['swp*', 'swp12', true],
    ['swp*', 'br0', false],
    ['tap.1', 'tapx1', false],
    ['{odd', '{odd', true],
  ];
  test.each(cases)('%s, %s: %s', (pattern, portId, names) => expect(namesPort(pattern, portId)).toBe(names));
});

test('an uplink is never touched, nor what is not listed', () => {
  const rules = { ports: ['Ethernet{1-48}'], uplinks: ['Ethernet{47-48}'] };
  expect(portFault(rules, 'Ethernet46')).toBeUndefined();
  expect(portFault(rules, 'Ethernet47')).toMatch('is an uplink');
  expect(portFault(rules, 'Management1')).toMatch("is not among the switch's ports in the networks file");
  expect(portFault({}, 'anything')).toBeUndefined();
});
