import { expect, test } from 'vitest';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';

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
const faultTexts = (groups: string, text?: string) => read(groups, text).faults.map(faultText);
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
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[1].selectors[0].node_tags[0]: node_tags[0] contrl is no node's; did you mean control?; there are control, compute",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[3].selectors[0].node_names[0]: node_names[0] n9 is no node's; there are n1, n2",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[3].selectors[0].node_labels[0]: node_labels[0] zone: b is no node's; did you mean zone: a?; there is zone: a",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[4].selectors[0].rack_names[0]: rack_names[0] r3 is no node's; there are r1, r2",
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[4].selectors[1].node_names[0]: node_names[0] n9 is no node's; there are n1, n2",
    ]
  `);
  expect(site?.strategy.groups).toHaveLength(5);
});

test('a value that nobody has is told in a group that has members, too', () => {
  expect(faultTexts(group('some', '[{node_names: [n1, n2, n3]}]'))).toMatchInlineSnapshot(`
    [
      "Warning UnmatchedSelector DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_names[2]: node_names[2] n3 is no node's; there are n1, n2",
    ]
  `);
});

test('the twenty first are told one by one', () => {
  const names = Array.from({ length: 25 }, (_, index) => `x${index}`);
  const faults = faultTexts(group('some', `[{node_names: [n1, n2, ${names.join(', ')}]}]`));
  expect(faults).toHaveLength(21);
  expect(faults.at(-1)).toBe(
    "Warning UnmatchedSelector DeploymentStrategy deployment-strategy: 5 more values in selectors are no node's",
  );
});

test('a minimum that can not be met is a warning, in a critical group too: the others deploy', () => {
  const two = ', success_criteria: {minimum_successful_nodes: 2}';
  expect(faultTexts(all + group('a', '[{node_names: [n1]}]', two))).toMatchInlineSnapshot(`
    [
      "Warning ImpossibleCriterion DeploymentStrategy deployment-strategy data.groups[1].success_criteria.minimum_successful_nodes: minimum_successful_nodes is 2, and group a has 1 node; it can only fail",
    ]
  `);
  expect(faultTexts(all + group('a', '[{node_names: [n1]}]', two, true))).toMatchInlineSnapshot(`
    [
      "Warning ImpossibleCriterion DeploymentStrategy deployment-strategy data.groups[1].success_criteria.minimum_successful_nodes: minimum_successful_nodes is 2, and group a has 1 node; it can only fail, and with it the action: it is critical",
    ]
  `);
  expect(faultTexts(group('a', '[]', two, true))).toEqual([]);
});

test('a critical group without criteria hardly ever fails', () => {
  expect(faultTexts(group('a', '[]', '', true))).toMatchInlineSnapshot(`
    [
      "Warning NoCriteria DeploymentStrategy deployment-strategy data.groups[0].success_criteria: success_criteria is missing in group a, which is critical: it succeeds whatever becomes of its nodes, unless its time is over; percent_successful_nodes: 100 asks for all of them",
    ]
  `);
  expect(faultTexts(group('a', '[]', ', success_criteria: {}', true))).toHaveLength(1);
  expect(faultTexts(group('a', '[]', ', success_criteria: {maximum_failed_nodes: 0}', true))).toEqual([]);
});

test('a node in no group', () => {
  expect(faultTexts(group('a', '[{node_names: [n1]}]'))).toMatchInlineSnapshot(`
    [
      "Warning NodeWithoutGroup BaremetalNode n2: the node is in no group of strategy deployment-strategy: it will not be deployed",
    ]
  `);
  expect(faultTexts('')).toHaveLength(2);
});

test('nothing is said of groups over nodes that could not be made out', () => {
  const broken = nodes + yamlOf('drydock/BaremetalNode/v1', 'n3', 'metadata: {tags: x}');
  expect(faultTexts(group('a', '[{node_tags: [x]}]'), broken)).toHaveLength(1);
});
