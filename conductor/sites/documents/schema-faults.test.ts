import { expect, test } from 'vitest';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';

const schema = (name: string, data: string) => yamlOf('deckhand/DataSchema/v1', name, data);
const faultsOf = (...texts: string[]) => readText(goodNode() + texts.join('')).faults.map(faultText);
const chart = (data: string) => yamlOf('armada/Chart/v1', 'chart', data);

test('documents are as the site’s own schemas say, or each fault is named with its place', () => {
  const rules = `
$schema: http://json-schema.org/schema#
id: http://example/chart
type: object
properties:
  a/b: {type: array, items: {type: integer, minimum: 3, exclusiveMinimum: true}}
  release: {$ref: '#/definitions/name'}
definitions: {name: {type: string, pattern: '^[a-z]+$'}}
required: [release]
additionalProperties: false`;
  expect(faultsOf(schema('armada/Chart/v1', rules), chart('{release: x, a/b: [4]}'))).toEqual([
    expect.stringContaining('Info NotUsed Chart'),
  ]);
  expect(faultsOf(schema('armada/Chart/v1', rules), chart('{a/b: [4, 3], password: x}'))).toMatchInlineSnapshot(`
    [
      "Info NotUsed Chart chart: a document of schema armada/Chart/v1: kept under revision, and not used by Baton",
      "Warning PlainSecret Chart chart: has a secret in clear, which everyone who may read the site sees; \`storagePolicy: encrypted\` in its metadata hides it",
      "Warning SchemaViolation Chart chart data: data must have required property 'release' (deckhand/DataSchema/v1 armada/Chart/v1)",
      "Warning SchemaViolation Chart chart data: data must NOT have additional properties: password (deckhand/DataSchema/v1 armada/Chart/v1)",
      "Warning SchemaViolation Chart chart data.a/b[1]: a/b[1] must be > 3 (deckhand/DataSchema/v1 armada/Chart/v1)",
    ]
  `);
});

test('no schema makes the check wait for anything', () => {
  const [fault] = faultsOf(schema('drydock/BaremetalNode/v1', '{$async: true, type: array}'));
  expect(fault).toContain('Error SchemaViolation BaremetalNode n1 data: data must be array');
});

test('what Baton works from must be as they say', () => {
  const rules = '{type: object, required: [none_such]}';
  const { site, faults } = readText(goodNode() + schema('drydock/BaremetalNode/v1', rules));
  expect(site).toBeUndefined();
  expect(faults.map(faultText)).toMatchInlineSnapshot(`
    [
      "Error SchemaViolation BaremetalNode n1 data: data must have required property 'none_such' (deckhand/DataSchema/v1 drydock/BaremetalNode/v1)",
    ]
  `);
});

test.each([
  ['[]'],
  ['{type: 3}'],
  ["{$ref: 'http://schemas.example/other'}"],
  ["{$ref: '#/definitions/none'}"],
  ["{properties: {a: {pattern: '('}}}"],
])('%s is not a schema, and hinders nothing', (rules) => {
  const [fault, ...others] = faultsOf(schema('drydock/BaremetalNode/v1', rules));
  expect(fault).toContain("Warning InvalidSchema DataSchema drydock/BaremetalNode/v1: the schema can't be used");
  expect(others).toEqual([]);
});

test('a schema that would take for ever is broken off', () => {
  const rules = "{properties: {a: {pattern: '^(a+)+$'}}}";
  const [, fault] = faultsOf(schema('armada/Chart/v1', rules), chart(`{a: ${'a'.repeat(40)}!}`));
  expect(fault).toContain('checking its documents takes longer than 2 s');
});
