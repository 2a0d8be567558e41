import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { findSwitchDriver, switchDriverNames, switchDrivers } from '#conductor/networks/switches/index.ts';

describe('the table of switch drivers', () => {
  const exported = async (path: string, type: string) => {
    const folder = new URL(path, import.meta.url);
    const files = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const sources = await Promise.all(files.map((name) => readFile(new URL(name, folder), 'utf8')));
    const exports = new RegExp(`^export const (\\w+): ${type}\\b`, 'gm');
    return sources.flatMap((source) => [...source.matchAll(exports)].map((match) => match[1] ?? ''));
  };

  test('lists every driver in the folder, and every operating system', async () => {
    const drivers = await exported('.', 'SwitchDriver');
    const systems = await exported('./os/', 'SwitchOs');
    expect(drivers.length).toBeGreaterThan(0);
    expect(systems.length).toBeGreaterThan(1);
    expect(new Set([...drivers, ...systems.map((name) => `${name}Driver`)])).toEqual(
      new Set(switchDriverNames.map((name) => `${name.replace(/-./, (part) => part.slice(1).toUpperCase())}Driver`)),
    );
  });

  test('are all in the operators’ guide', async () => {
    const guide = await readFile(new URL('../../../docs/networks.md', import.meta.url), 'utf8');
    for (const name of switchDriverNames) expect(guide).toContain(`| \`${name}\` |`);
  });

  test('finds by name', () => {
    expect(switchDrivers.map((driver) => findSwitchDriver(driver.name))).toEqual(switchDrivers);
    expect(() => findSwitchDriver('cisco')).toThrow('switch driver cisco does not exist; drivers are: ovs');
  });
});

test.each([
  ['eos', 'Ethernet1', undefined, 'Ethernet1'],
  ['nxos', 'Ethernet1/1', 'node 1', 'Ethernet1/1'],
  ['ios-xe', 'Gi1/0/1', undefined, 'GigabitEthernet1/0/1'],
  ['ios-xe', 'Twe1/0/12', undefined, 'TwentyFiveGigE1/0/12'],
  ['ios-xe', 'GigabitEthernet1/0/1', undefined, 'GigabitEthernet1/0/1'],
  ['junos', '514', 'ge-0/0/7.0', 'ge-0/0/7'],
  ['junos', 'xe-0/0/7', 'node 1', 'xe-0/0/7'],
  ['junos', '514', 'node 1', undefined],
  // an operator may have written the neighbour's port there
  ['sonic', 'etp1', 'Ethernet0', undefined],
  ['sonic', 'Ethernet0', 'Ethernet0', undefined],
  ['sonic', '00:11:22:33:44:55', 'Ethernet0', 'Ethernet0'],
  ['sonic', 'Ethernet33', 'node 1', undefined],
  ['ios-xe', 'Fif1/0/1', undefined, 'FiftyGigE1/0/1'],
  ['ios-xe', 'Xyz1/0/1', undefined, undefined],
  ['ios-xe', 'TenGigabitEthernet1/1/1/1', undefined, 'TenGigabitEthernet1/1/1/1'],
  ['nxos', 'Eth1/6', 'node 1', 'Ethernet1/6'],
  ['eos', 'Ethernet1/1/1/1', undefined, 'Ethernet1/1/1/1'],
  ['eos', 'Et1', 'node 1', 'Ethernet1'],
  ['eos', 'Et3/2/1', undefined, 'Ethernet3/2/1'],
  ['eos', 'Po7', undefined, 'Port-Channel7'],
  ['eos', 'Eth1', undefined, undefined],
  ['junos', '514', 'et-0/0/1:12', 'et-0/0/1:12'],
  ['os10', 'ethernet1/1/1:10', undefined, 'ethernet1/1/1:10'],
  ['aos-cx', '1/1/6:1', undefined, '1/1/6:1'],
  ['cumulus', 'swp1', undefined, 'swp1'],
  ['linux', '00:11:22:33:44:55', 'swp1', 'swp1'],
] as const)('%s: LLDP with port id %s and description %s is port %s', (driver, portId, description, found) => {
  expect(findSwitchDriver(driver).portIdOf?.({ portId, description })).toBe(found);
});
