import { describe, expect, test } from 'vitest';
import { readLabels } from '#conductor/sites/documents/strategy-document.ts';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const strategy = (data: string, nodes = goodNode()) =>
  readText(nodes + yamlOf('shipyard/DeploymentStrategy/v1', 'deployment-strategy', data));
const faultTexts = (data: string) => strategy(data).faults.map(faultText);
const group = (name: string, more: string) => `  - {name: ${name}, critical: false, ${more}}\n`;

test('a strategy with all that there is', () => {
  const { site, faults } = strategy(`
groups:
  - name: all
    critical: true
    depends_on: []
    selectors: [{}]
    success_criteria: {percent_successful_nodes: 99.5, minimum_successful_nodes: 1, maximum_failed_nodes: 0}
    max_parallel_nodes: 8
    deploy_as_prepared: true
    prepare_timeout: 60
    deploy_timeout: 120
  - name: labelled
    critical: false
    depends_on: [all]
    selectors: [{node_names: [n1], node_labels: [{zone: a}, 'zone: b'], node_tags: [], rack_names: []}]
max_parallel_groups: 20
`);
  expect(faults.filter(({ level }) => level === 'Error')).toEqual([]);
  expect(site?.strategy).toEqual({
    name: 'deployment-strategy',
    groups: [
      {
        name: 'all',
        critical: true,
        depends_on: [],
        selectors: [{}],
        success_criteria: { percent_successful_nodes: 99.5, minimum_successful_nodes: 1, maximum_failed_nodes: 0 },
        max_parallel_nodes: 8,
        deploy_as_prepared: true,
        prepare_timeout: 60,
        deploy_timeout: 120,
      },
      {
        name: 'labelled',
        critical: false,
        depends_on: ['all'],
        selectors: [
          {
            node_names: ['n1'],
            node_labels: [
              ['zone', 'a'],
              ['zone', 'b'],
            ],
            node_tags: [],
            rack_names: [],
          },
        ],
      },
    ],
    max_parallel_groups: 20,
  });
});

test('a rollout in short and in full', () => {
  const rules = (more: string) =>
    strategy(`groups:\n${group('a', `depends_on: [], selectors: [], ${more}`)}`).site?.strategy.groups[0];
  expect(rules('canary: {}, batch: 5, max_unavailable: 10%')).toMatchObject({
    canary: { nodes: 1, stay_seconds: 0 },
    batch: [5],
    max_unavailable: [{ nodes: '10%' }],
  });
  const window = `{from: "22:00", to: "05:00", days: [fri], zone: Europe/Berlin}`;
  const full = `batch: [1, 5, 25%], max_unavailable: [20%, {nodes: 1, per: rack}],
    order: {by: rack, manner: spread}, pause_on: {failed_nodes: 3, same_cause: 2}, window: ${window},
    health: [{name: api, http: "https://api.example/healthz", hold_seconds: 60, patience_seconds: 0}, {tcp: "[2001:db8::1]:22"}, {prometheus: "http://p:9090", query: sum(up), at_least: 0.5}]`;
  expect(rules(full)).toMatchObject({
    batch: [1, 5, '25%'],
    max_unavailable: [{ nodes: '20%' }, { nodes: 1, per: 'rack' }],
    order: { by: 'rack', manner: 'spread' },
    pause_on: { failed_nodes: 3, same_cause: 2 },
    window: { from: '22:00', to: '05:00', days: ['fri'], zone: 'Europe/Berlin' },
    health: [
      { name: 'api', http: 'https://api.example/healthz', hold_seconds: 60, patience_seconds: 0 },
      { name: '[2001:db8::1]:22', tcp: '[2001:db8::1]:22', hold_seconds: 0, patience_seconds: 60 },
      { name: 'http://p:9090', prometheus: 'http://p:9090', query: 'sum(up)', at_least: 0.5 },
    ],
  });
});

describe('each fault with its path and message', () => {
  test('fields of groups', () => {
    expect(
      faultTexts(`
groups:
  - {name: a, critcal: true, selectors: [{node_label: [x]}, {node_tags: web}]}
  - name: 3
    critical: perhaps
    depends_on:
    selectors: []
    success_criteria: {percent_successful_nodes: 101, minimum_successful_nodes: -1, maximum_failed_nodes: 1.5}
    prepare_timeout: 0
    deploy_timeout: 1h
    max_parallel_nodes: 0
    deploy_as_prepared: 1
max_parallel_groups: 0
max_parallel_group: 2
`),
    ).toMatchInlineSnapshot(`
      [
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].critical: critical is missing; it must be true or false",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].depends_on: depends_on is missing; it must be a list of group names, [] for none",
        "Error UnknownField DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_label: node_label is not known here; did you mean node_labels?; there are node_names, node_tags, node_labels, rack_names",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].selectors[1].node_tags: node_tags must be a list of tags (given: "web")",
        "Error UnknownField DeploymentStrategy deployment-strategy data.groups[0].critcal: critcal is not known here; did you mean critical?; there are name, critical, depends_on, selectors, success_criteria, max_parallel_nodes, deploy_as_prepared, prepare_timeout, deploy_timeout, canary, batch, max_unavailable, order, pause_on, window, health",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].name: name must be text: put it into quotes (given: 3)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].critical: critical must be true or false (given: "perhaps")",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].depends_on: depends_on must be a list of group names, [] for none",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].success_criteria.percent_successful_nodes: percent_successful_nodes must be a number from 0 to 100 (given: 101)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].success_criteria.minimum_successful_nodes: minimum_successful_nodes must be a number of nodes, 0 or more (given: -1)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].success_criteria.maximum_failed_nodes: maximum_failed_nodes must be a number of nodes, 0 or more (given: 1.5)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].max_parallel_nodes: max_parallel_nodes must be a number of nodes, 1 or more (given: 0)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].deploy_as_prepared: deploy_as_prepared must be true or false (given: 1)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].prepare_timeout: prepare_timeout must be a whole number of seconds, 1 or more (given: 0)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[1].deploy_timeout: deploy_timeout must be a whole number of seconds, 1 or more (given: "1h")",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.max_parallel_groups: max_parallel_groups must be a number of groups, 1 or more (given: 0)",
        "Error UnknownField DeploymentStrategy deployment-strategy data.max_parallel_group: max_parallel_group is not known here; did you mean max_parallel_groups?; there are groups, max_parallel_groups",
      ]
    `);
  });

  test('rollouts', () => {
    const rules = (more: string) => faultTexts(`groups:\n${group('a', `depends_on: [], selectors: [], ${more}`)}`);
    const wrong = [
      'canary: {nodes: 0, stay_seconds: -1}',
      'canary: 1',
      'batch: [0, 101%, "5"]',
      'max_unavailable: 0',
      'max_unavailable: {nodes: 1, per: cabinet}',
      'order: {by: rack, manner: random}',
      'pause_on: {}',
      'pause_on: {same_cause: 1}',
      'window: {from: "25:00", to: "05:00", zone: Mars/Olympus}',
      'window: {from: "05:00", to: "05:00", days: [], zone: UTC}',
      'canary: {}, deploy_as_prepared: false',
      'canary: {nodes: 2}',
      'max_unavailable: {nodes: 1, per: "label:pdu"}',
      'health: {tcp: "a:1"}',
      'health: []',
      'health: [{}]',
      'health: [{tcp: "a:1", http: "http://a/"}]',
      'health: [{tcp: a}, {tcp: "a:70000"}, {tcp: "a b:1"}]',
      'health: [{http: "ftp://a/"}]',
      'health: [{tcp: "a:1", hold_seconds: -1, patience_seconds: 90000}]',
      'health: [{tcp: "a:1"}, {tcp: "a:1"}]',
      'health: [{tcp: "a:1", kubernetes: ready}]',
      'health: [{prometheus: "http://p:9090"}]',
      'health: [{prometheus: "p:9090", query: up, at_least: high}]',
      'health: [{prometheus: "http://p:9090", query: up, at_least: 2, at_most: 1}]',
      'health: [{tcp: "a:1", query: up, at_most: 1}]',
      'health: [{tcp: "a:1"}], deploy_as_prepared: false',
    ];
    expect(
      wrong.flatMap((each) => rules(each).map((text) => text.slice(text.indexOf('data.groups[0].') + 15))),
    ).toMatchInlineSnapshot(`
      [
        "canary.nodes: nodes must be a number of nodes, 1 or more (given: 0)",
        "canary.stay_seconds: stay_seconds must be a whole number of seconds, 0 or more (given: -1)",
        "canary: canary must be a mapping (given: 1)",
        "batch[0]: batch[0] must be a number of nodes, 1 or more, or a share of them such as "10%" (given: 0)",
        "batch[1]: batch[1] must be a number of nodes, 1 or more, or a share of them such as "10%" (given: "101%")",
        "batch[2]: batch[2] must be a number of nodes, 1 or more, or a share of them such as "10%" (given: "5")",
        "max_unavailable: max_unavailable must be a number of nodes, 1 or more, or a share of them such as "10%" (given: 0)",
        "max_unavailable.per: per must be "rack", or "label:" and the key of a label (given: "cabinet")",
        "order.manner: manner must be together or spread (given: "random")",
        "pause_on: pause_on must have failed_nodes or same_cause",
        "pause_on.same_cause: same_cause must be a number of nodes, 2 or more (given: 1)",
        "window.from: from must be a time of day in quotes, such as "22:00" (given: "25:00")",
        "window.zone: zone must be a time zone such as Europe/Berlin (given: "Mars/Olympus")",
        "window.days: days must be a list of days: mon, tue, wed, thu, fri, sat, sun",
        "window.to: to must not be the same time as from: nothing would ever begin (given: "05:00")",
        "deploy_as_prepared: deploy_as_prepared must not be false beside canary, batch, max_unavailable, window or health, which deploy each node as it is prepared",
        "canary.nodes: nodes must not be more than the group has nodes, which are 1 (given: 2)",
        "max_unavailable: max_unavailable names label pdu, which no node has; there are none",
        "health: health must be a list of 1 to 16 gates",
        "health: health must be a list of 1 to 16 gates",
        "health[0]: health[0] must have one of http, tcp, prometheus",
        "health[0]: health[0] must have one of http, tcp, prometheus",
        "health[0].tcp: tcp must be a host and a port, such as api.example:6443 (given: "a")",
        "health[1].tcp: tcp must be a host and a port, such as api.example:6443 (given: "a:70000")",
        "health[2].tcp: tcp must be a host and a port, such as api.example:6443 (given: "a b:1")",
        "health[0].http: http must be an http:// or https:// URL without a login (given: "ftp://a/")",
        "health[0].hold_seconds: hold_seconds must be a whole number of seconds, from 0 to 86400 (given: -1)",
        "health[0].patience_seconds: patience_seconds must be a whole number of seconds, from 0 to 86400 (given: 90000)",
        "health[1].name: name must be of this gate alone (given: "a:1", again)",
        "health[0].kubernetes: kubernetes is not known here; there are name, http, tcp, prometheus, query, at_least, at_most, hold_seconds, patience_seconds",
        "health[0].query: query is missing: it must give one number",
        "health[0].at_most: at_most is missing; it or at_least must be a number",
        "health[0].prometheus: prometheus must be an http:// or https:// URL without a login (given: "p:9090")",
        "health[0].at_least: at_least must be a number (given: "high")",
        "health[0].at_least: at_least must not be more than at_most, which is 1: no value would be good (given: 2)",
        "health[0].query: query must stand beside prometheus, and no other question (given: "up")",
        "health[0].at_most: at_most must stand beside prometheus, and no other question (given: 1)",
        "deploy_as_prepared: deploy_as_prepared must not be false beside canary, batch, max_unavailable, window or health, which deploy each node as it is prepared",
      ]
    `);
    expect(wrong.filter((each) => rules(each).length === 0)).toEqual([]);
  });

  test('percentages', () => {
    const percent = (value: string) =>
      faultTexts(
        `groups:\n${group('a', `depends_on: [], selectors: [], success_criteria: {percent_successful_nodes: ${value}}`)}`,
      );
    expect(['190', '-1', '"90"', '100.01'].flatMap(percent)).toMatchInlineSnapshot(`
      [
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].success_criteria.percent_successful_nodes: percent_successful_nodes must be a number from 0 to 100 (given: 190)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].success_criteria.percent_successful_nodes: percent_successful_nodes must be a number from 0 to 100 (given: -1)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].success_criteria.percent_successful_nodes: percent_successful_nodes must be a number from 0 to 100 (given: "90")",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].success_criteria.percent_successful_nodes: percent_successful_nodes must be a number from 0 to 100 (given: 100.01)",
      ]
    `);
    expect(['0', '100', '66.6'].flatMap(percent)).toEqual([]);
  });

  test('labels', () => {
    const labels = (value: string) =>
      faultTexts(`groups:\n${group('a', `depends_on: [], selectors: [{node_labels: ${value}}]`)}`);
    expect(labels('[a, "a:b:c", ":b", {x: 1}, 3, {y: ""}]')).toMatchInlineSnapshot(`
      [
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_labels[0]: node_labels[0] is "a", which has 0 colons; it must have exactly one: "key: value"",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_labels[1]: node_labels[1] is "a:b:c", which has 2 colons; it must have exactly one: "key: value"",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_labels[2]: node_labels[2] must have a key and a value: "rack_kind: dense" (given: ":b")",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_labels[3].x: x must be text: put it into quotes (given: 1)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_labels[4]: node_labels[4] must be "key: value" (given: 3)",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_labels[5].y: y must have a key and a value: "rack_kind: dense"",
      ]
    `);
    expect(labels('zone')).toMatchInlineSnapshot(`
      [
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups[0].selectors[0].node_labels: node_labels must be a list of labels, each "key: value" (given: "zone")",
      ]
    `);
  });

  test('dependencies', () => {
    const none = 'selectors: []';
    expect(
      faultTexts(
        `groups:\n${group('a', `depends_on: [b], ${none}`)}${group('b', `depends_on: [a], ${none}`)}${group('b', `depends_on: [], ${none}`)}${group('c', `depends_on: [c, aa], ${none}`)}`,
      ),
    ).toMatchInlineSnapshot(`
      [
        "Error DuplicateGroup DeploymentStrategy deployment-strategy data.groups[2].name: group b stands here again, after data.groups[1]; each group needs a name of its own",
        "Error SelfDependency DeploymentStrategy deployment-strategy data.groups[3].depends_on[0]: group c depends on itself; it may depend on other groups",
        "Error UnknownDependency DeploymentStrategy deployment-strategy data.groups[3].depends_on[1]: group c depends on aa, which is not a group; there are a, b",
        "Error DependencyCycle DeploymentStrategy deployment-strategy data.groups[0].depends_on: groups depend on each other in a circle: a → b → a (→ = depends on); one of these dependencies must go",
      ]
    `);
  });

  test('no groups at all', () => {
    expect(['{}', 'groups: {}'].flatMap(faultTexts)).toMatchInlineSnapshot(`
      [
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups: groups is missing; it must be a list of groups",
        "Error InvalidValue DeploymentStrategy deployment-strategy data.groups: groups must be a list of groups",
      ]
    `);
  });
});

test('names that would move a cursor are refused', () => {
  expect(
    faultTexts(`groups:\n${group('"a\\e[2J"', 'depends_on: [], selectors: [{node_tags: ["x\\u0007"]}]')}`),
  ).toEqual(
    expect.arrayContaining([
      expect.stringContaining('data.groups[0].name: name must have no control characters'),
      expect.stringContaining('node_tags[0] must have no control characters'),
    ]),
  );
  expect(readText(goodNode('metadata: {tags: ["\\e"], rack: "a\\nb", owner_data: {a: "\\t"}}')).faults).toHaveLength(3);
});

const side = fc
  .string({ minLength: 1 })
  .map((text) => text.replaceAll(':', '').trim())
  .filter((text) => text !== '' && text !== '__proto__');
const blank = fc.constantFrom('', ' ', '  ', '\t');

test('a label given as text and as mapping is the same, in any mixture, blanks aside', () => {
  const label = fc.record({ key: side, value: side, before: blank, after: blank, asText: fc.boolean() });
  fc.assert(
    fc.property(fc.array(label, { maxLength: 6 }), (labels) => {
      const given = labels.map(({ key, value, before, after, asText }) =>
        asText ? `${before}${key}${after}:${before}${value}${after}` : { [key]: `${before}${value}` },
      );
      expect(readLabels(given)).toEqual({ labels: labels.map(({ key, value }) => [key, value]), faults: [] });
    }),
  );
});

test('text is a label with exactly one colon and something on either side, and nothing else', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', ':', ' ') }), (text) => {
      const parts = text.split(':');
      const right = parts.length === 2 && parts.every((part) => part.trim() !== '');
      const { labels, faults } = readLabels([text]);
      expect([labels.length, faults.length]).toEqual(right ? [1, 0] : [0, 1]);
    }),
  );
});

test('one mapping has several', () => {
  expect(readLabels({ a: 'b', c: 'd' }).labels).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect(readLabels([{ a: 'b', c: 'd' }]).labels).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect(readLabels([])).toEqual({ labels: [], faults: [] });
});

test('each fault with its place', () => {
  const { faults } = readLabels(['a', 'a:b:c', ':b', { x: 1, y: true, z: ' ' }, 3]);
  expect(faults.map(({ path, message }) => `${path.join('.')} ${message}`)).toMatchInlineSnapshot(`
    [
      "0 is "a", which has 0 colons; it must have exactly one: "key: value"",
      "1 is "a:b:c", which has 2 colons; it must have exactly one: "key: value"",
      "2 must have a key and a value: "rack_kind: dense"",
      "3.x must be text: put it into quotes",
      "3.y must be text: put it into quotes",
      "3.z must have a key and a value: "rack_kind: dense"",
      "4 must be "key: value"",
    ]
  `);
  expect(readLabels('a: b').faults).toMatchInlineSnapshot(`
    [
      {
        "message": "must be a list of labels, each "key: value"",
        "path": [],
      },
    ]
  `);
});

test('keys and values have no control characters', () => {
  const message = 'must have no control characters';
  expect(readLabels(['a\u001bb: c', { 'd\u0085e': 'f' }, 'g: h'])).toEqual({
    labels: [['g', 'h']],
    faults: [
      { path: [0], message },
      { path: [1, 'd\u0085e'], message },
    ],
  });
});
