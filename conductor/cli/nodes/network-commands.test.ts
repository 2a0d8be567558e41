import { expect, test } from 'vitest';
import type { NodeNetworkAnswer } from '#conductor/api/node-parts.ts';
import { createNodeTerminal } from '#conductor/cli/testing/node-terminal.ts';

const port: NodeNetworkAnswer['ports'][number] = {
  port_uuid: 'p1',
  address: '52:54:00:00:00:01',
  switch_id: 'leaf1',
  port_id: 'Ethernet1',
  network: 'blue',
  applied_at: '2026-01-01T00:00:00Z',
  looked_at: '2026-01-01T00:10:00Z',
  wanted: null,
  found: null,
  wanted_bond: null,
  found_bond: null,
  differs: false,
  differences: [],
  commands: [],
  error: null,
};

async function diff(...ports: NodeNetworkAnswer['ports']): Promise<string> {
  const terminal = createNodeTerminal();
  terminal.nodeStates = [{ provision_state: 'active', target_provision_state: null, ports }];
  await terminal.run('network', 'diff', 'n1');
  return terminal.output;
}

test('what differs at Neutron is told in words, then what a repair would send', async () => {
  const differences = ['port blue is DOWN, not ACTIVE'];
  const text = await diff({ ...port, differs: true, differences, commands: ['port set blue'] });
  expect(text).toMatch(/leaf1 Ethernet1 +blue +by Neutron +differs\n\n5/);
  expect(text).toMatch(
    /\n\n52:54:00:00:00:01: port blue is DOWN, not ACTIVE\n\nA repair would send:\n {2}port set blue\n/,
  );
});

test('what is as it was set, and what could not be read', async () => {
  expect(await diff(port)).toMatch(/by Neutron +-\n$/);
  expect(await diff({ ...port, error: 'Neutron does not answer' })).toMatch(/not read: Neutron does not answer\n$/);
  const vlans = { untagged: 100, tagged: [] };
  const text = await diff({ ...port, wanted: vlans, found: vlans });
  expect(text).toMatch(/VLAN 100 +VLAN 100\n$/);
});

test.each([
  [[], 'node n1: Baton has set no switch ports of it: nothing was repaired\n'],
  [[port], 'node n1: switch ports are as Baton has set them\n'],
])('a repair says whether there was something to repair: %#', async (ports, text) => {
  const terminal = createNodeTerminal();
  terminal.nodeStates = [{ provision_state: 'active', target_provision_state: null, ports }];
  await terminal.run('network', 'repair', 'n1');
  expect(terminal.output).toBe(text);
  expect(terminal.calls).toEqual([['POST', '/v1/nodes/n1/network/repair', undefined]]);
});
