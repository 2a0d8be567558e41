import { expect, test } from 'vitest';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';

const faultTexts = (text: string, known = {}) => readText(text, known).faults.map(faultText);
const node = (name: string, data: string) => yamlOf('drydock/BaremetalNode/v1', name, data);

test('what two nodes can not share', () => {
  const image = `platform: {image: 'http://i', checksum: 'http://i.sha256'}`;
  const text = [
    node(
      'n1',
      `oob: {type: redfish, address: 'https://BMC.example/', credential: c}\ninterfaces: {a: {mac: '52:54:00:00:00:0a', switch_port: {switch_id: AA, port_id: p1}}}\n${image}`,
    ),
    node(
      'n2',
      `oob: {type: redfish, address: bmc.example, credential: c}\ninterfaces: {x: {mac: 52-54-00-00-00-0A}, y: {mac: '52:54:00:00:00:0b', switch_port: {switch_id: aa, port_id: p1}}, z: {mac: '52:54:00:00:00:0b'}}\n${image}`,
    ),
    node(
      'n3',
      `oob: {type: ipmi, address: 192.0.2.1, credential: c}\nmetadata: {boot_mac: '52:54:00:00:00:0c'}\n${image}`,
    ),
    node(
      'n4',
      `oob: {type: ipmi, address: 192.0.2.1, port: 623, credential: c}\nmetadata: {boot_mac: '52:54:00:00:00:0c'}\n${image}`,
    ),
  ];
  expect(faultTexts(text.join(''))).toMatchInlineSnapshot(`
    [
      "Error DuplicateBmc BaremetalNode n2 data.oob.address: address is bmc.example, which node n1 has already",
      "Error DuplicateMac BaremetalNode n2 data.interfaces.x.mac: mac is 52:54:00:00:00:0a, which node n1 has already",
      "Error DuplicateSwitchPort BaremetalNode n2 data.interfaces.y.switch_port: switch_port is p1 of switch aa, which node n1 has already",
      "Error DuplicateMac BaremetalNode n2 data.interfaces.y.mac: mac is 52:54:00:00:00:0b, which this node has already",
      "Error DuplicateBmc BaremetalNode n4 data.oob.address: address is 192.0.2.1 port 623, which node n3 has already",
      "Error DuplicateMac BaremetalNode n4 data.metadata.boot_mac: boot_mac is 52:54:00:00:00:0c, which node n3 has already",
    ]
  `);
});

test('one BMC may have several systems, and an address several ports', () => {
  const system = (number: number) =>
    goodNode('', `n${number}`, number).replace(/192.0.2.\d+/, `192.0.2.1, system_id: /redfish/v1/Systems/${number}`);
  expect(faultTexts(system(1) + system(2))).toEqual([]);
  const port = (number: number) =>
    goodNode('', `n${number}`, number).replace(/redfish, address: [\d.]+/, `ipmi, address: 192.0.2.1, port: ${number}`);
  expect(faultTexts(port(1) + port(2))).toEqual([]);
});

test('names that lead outside, where what there is is known', () => {
  const text = goodNode()
    .replace('mac:', 'networks: [tennant], mac:')
    .replace('credential: bmc', 'credential: Passw0rd');
  expect(faultTexts(text)).toEqual([]);
  const faults = faultTexts(text, { credentials: ['bmc', 'other'], networks: ['tenant', 'blue'], drivers: ['ipmi'] });
  expect(faults).toMatchInlineSnapshot(`
    [
      "Error UnknownCredential BaremetalNode n1 data.oob.credential: credential is not a stored credential; there are bmc, other; user and password are kept by \`baton credential set NAME\`; a password needs \`account\` beside it in the same document",
      "Error UnknownDriver BaremetalNode n1 data.oob.type: type means driver redfish, which this conductor has not; there is ipmi",
      "Error UnknownNetwork BaremetalNode n1 data.interfaces.eth0.networks: networks have tennant, which is not a network; did you mean tenant?; there are tenant, blue",
    ]
  `);
  expect(faults.join()).not.toContain('Passw0rd');
  expect(faultTexts(goodNode(), { credentials: ['bmc'], networks: [], drivers: ['redfish'] })).toEqual([]);
});

const nodes =
  goodNode('metadata: {tags: [control], rack: r1, owner_data: {zone: a}}') +
  goodNode('metadata: {tags: [compute], rack: r2}', 'n2', 2);
const group = (name: string, selectors: string, more = '', critical = false) =>
  `  - {name: ${name}, critical: ${critical}, depends_on: [], selectors: ${selectors}${more}}\n`;
const read = (groups: string, text = nodes) =>
  readText(
    text +
      yamlOf(
        'shipyard/DeploymentStrategy/v1',
        'deployment-strategy',
        `groups:${groups === '' ? ' []' : `\n${groups}`}`,
      ),
  );
const groupFaults = (groups: string, text?: string) => read(groups, text).faults.map(faultText);
const all = group('all', '[]');

test('a group that chooses nobody: which criterion, and what there is', () => {
  const groups = [
    group('misspelt', '[{node_tags: [contrl]}]'),
    group('apart', '[{node_tags: [control], rack_names: [r2]}]'),
    group('label', '[{node_labels: ["zone: b"], node_names: [n9]}]'),
    group('several', '[{rack_names: [r3]}, {node_names: [n9]}]'),
  ];
  const { site, faults } = read(all + groups.join(''));
  expect(faults.map(faultText)).toMatchInlineSnapshot(`
    [
      "Warning EmptyGroup DeploymentStrategy deployment-strategy data.groups[1].selectors: selectors of group misspelt choose no node: node_tags matches none",
      "Warning EmptyGroup DeploymentStrategy deployment-strategy data.groups[2].selectors: selectors of group apart choose no node: node_tags and rack_names match, and no node has all of it",
      "Warning EmptyGroup DeploymentStrategy deployment-strategy data.groups[3].selectors: selectors of group label choose no node: node_names and node_labels match none",
      "Warning EmptyGroup DeploymentStrategy deployment-strategy data.groups[4].selectors: selectors of group several choose no node: rack_names matches none; node_names matches none",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[1].selectors[0].node_tags[0]: node_tags[0] contrl is not a node's; did you mean control?; there are control, compute",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[3].selectors[0].node_names[0]: node_names[0] n9 is not a node's; there are n1, n2",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[3].selectors[0].node_labels[0]: node_labels[0] zone: b is not a node's; did you mean zone: a?; there is zone: a",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[4].selectors[0].rack_names[0]: rack_names[0] r3 is not a node's; there are r1, r2",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[4].selectors[1].node_names[0]: node_names[0] n9 is not a node's; there are n1, n2",
    ]
  `);
  expect(site?.strategy.groups).toHaveLength(5);
});

test('a value that nobody has is told in a group that has members, too', () => {
  expect(groupFaults(group('some', '[{node_names: [n1, n2, n3]}]'))).toMatchInlineSnapshot(`
    [
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_names[2]: node_names[2] n3 is not a node's; there are n1, n2",
    ]
  `);
});

test('the twenty first are told one by one', () => {
  const names = Array.from({ length: 25 }, (_, index) => `x${index}`);
  const faults = groupFaults(group('some', `[{node_names: [n1, n2, ${names.join(', ')}]}]`));
  expect(faults).toHaveLength(21);
  expect(faults.at(-1)).toBe(
    'Warning UnmatchedSelector DeploymentStrategy deployment-strategy: 5 more values in selectors match no node',
  );
});

test('a minimum that can not be met is a warning, in a critical group too: the others deploy', () => {
  const two = ', success_criteria: {minimum_successful_nodes: 2}';
  expect(groupFaults(all + group('a', '[{node_names: [n1]}]', two))).toMatchInlineSnapshot(`
    [
      "Warning ImpossibleCriterion DeploymentStrategy deployment-strategy data.groups[1].success_criteria.minimum_successful_nodes: minimum_successful_nodes is 2, and group a has 1 node; it can only fail",
    ]
  `);
  expect(groupFaults(all + group('a', '[{node_names: [n1]}]', two, true))).toMatchInlineSnapshot(`
    [
      "Warning ImpossibleCriterion DeploymentStrategy deployment-strategy data.groups[1].success_criteria.minimum_successful_nodes: minimum_successful_nodes is 2, and group a has 1 node; it can only fail, and with it the action: it is critical",
    ]
  `);
  expect(groupFaults(group('a', '[]', two, true))).toEqual([]);
});

test('a critical group without criteria hardly ever fails', () => {
  expect(groupFaults(group('a', '[]', '', true))).toMatchInlineSnapshot(`
    [
      "Warning NoCriteria DeploymentStrategy deployment-strategy data.groups[0].success_criteria: success_criteria is missing in group a, which is critical: it succeeds whatever becomes of its nodes, unless its time is over; percent_successful_nodes: 100 asks for all of them",
    ]
  `);
  expect(groupFaults(group('a', '[]', ', success_criteria: {}', true))).toHaveLength(1);
  expect(groupFaults(group('a', '[]', ', success_criteria: {maximum_failed_nodes: 0}', true))).toEqual([]);
});

test('a node in no group', () => {
  expect(groupFaults(group('a', '[{node_names: [n1]}]'))).toMatchInlineSnapshot(`
    [
      "Warning NodeWithoutGroup BaremetalNode n2: the node is in no group of strategy deployment-strategy: it will not be deployed",
    ]
  `);
  expect(groupFaults('')).toHaveLength(2);
});

test('nothing is said of groups over nodes that could not be made out', () => {
  const broken = nodes + yamlOf('drydock/BaremetalNode/v1', 'n3', 'metadata: {tags: x}');
  expect(groupFaults(group('a', '[{node_tags: [x]}]'), broken)).toHaveLength(1);
});
