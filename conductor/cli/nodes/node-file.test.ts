import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { readNodeFile } from '#conductor/cli/nodes/node-file.ts';

const read = (text: string, drivers?: string[]) => readNodeFile(text, 'nodes.yaml', drivers);

test('docs/examples/nodes.yaml is a file of nodes', async () => {
  const text = await readFile(new URL('../../../docs/examples/nodes.yaml', import.meta.url), 'utf8');
  expect(read(text, ['redfish', 'ipmi']).map(({ name, ports }) => [name, ports.length])).toEqual([
    ['r01-n01', 1],
    ['r01-n02', 1],
  ]);
});

test('lists, objects, single nodes and several documents are read', () => {
  const one = { name: 'n1', driver: 'redfish', fields: { name: 'n1', driver: 'redfish' }, traits: [], ports: [] };
  expect(read('- {name: n1, driver: redfish}')).toEqual([{ ...one, portgroups: [] }]);
  expect(read('{"nodes": [{"name": "n1", "driver": "redfish"}]}')).toHaveLength(1);
  expect(read('name: n1\ndriver: redfish\n---\nname: n2\ndriver: ipmi\n---\n').map(({ name }) => name)).toEqual([
    'n1',
    'n2',
  ]);
});

test('merge keys spare repetition; ports may stand below their group', () => {
  const [node] = read(`
nodes:
- name: n1
  driver: redfish
  driver_info: &bmc {redfish_username: admin}
  resource_class: gold
  traits: [CUSTOM_GOLD]
  portgroups: [{name: bond0, mode: 802.3ad, ports: [{address: '52:54:00:AA:00:02', pxe_enabled: false}]}]
  ports: [{address: '52:54:00:aa:00:01', portgroup: bond0}]
- name: n2
  driver: redfish
  driver_info: {<<: *bmc, redfish_address: 'https://192.0.2.9'}
`);
  expect(node).toEqual({
    name: 'n1',
    driver: 'redfish',
    fields: { name: 'n1', driver: 'redfish', driver_info: { redfish_username: 'admin' }, resource_class: 'gold' },
    traits: ['CUSTOM_GOLD'],
    portgroups: [{ name: 'bond0', fields: { name: 'bond0', mode: '802.3ad' } }],
    ports: [
      { address: '52:54:00:aa:00:01', portgroup: 'bond0', fields: { address: '52:54:00:aa:00:01' } },
      {
        address: '52:54:00:aa:00:02',
        portgroup: 'bond0',
        fields: { address: '52:54:00:aa:00:02', pxe_enabled: false },
      },
    ],
  });
});

test('all problems are told at once, with their places', () => {
  const text = `
- {name: n1, driver: redfish, colour: red}
- {driver: redfish, driver_info: 7}
- {name: n3, driver: redfisch, traits: [gold], ports: [{address: nonsense}]}
- {name: n4, driver: nope, ports: [{address: '52:54:00:aa:00:01', portgroup: bond0}]}
- {name: n4, driver: redfish, ports: [{address: '52:54:00:AA:00:01'}]}
`;
  expect(() => read(text, ['redfish', 'ipmi'])).toThrow(/^nodes\.yaml: nothing was sent, for it has problems:/);
  for (const problem of [
    'nodes[0] (n1): Unrecognized key: "colour"',
    'nodes[1]: name: must be given: by it the node is known',
    'nodes[1]: driver_info: must be a JSON object',
    'nodes[2] (n3): traits.0: must be like CUSTOM_GOLD',
    'nodes[2] (n3): ports.0.address: Expected valid MAC address',
    'name n4: it stands there more than once',
    'port 52:54:00:aa:00:01: it stands there more than once',
    'n4: port 52:54:00:aa:00:01: the node has no port group bond0',
    'n4: driver: nope is none of redfish, ipmi',
  ]) {
    expect(() => read(text, ['redfish', 'ipmi'])).toThrow(problem);
  }
  expect(() => read('')).toThrow('it has no nodes');
  expect(() => read('{[')).toThrow('it must be JSON or YAML');
});
