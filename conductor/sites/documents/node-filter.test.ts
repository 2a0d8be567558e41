import { describe, expect, test } from 'vitest';
import { filterNodes, readNodeFilter } from '#conductor/sites/documents/node-filter.ts';
import { parseDesignReference } from '#conductor/sites/revisions/find-design.ts';
import { seedNodes } from '#conductor/sites/strategy/testing/seed-example.ts';

const nodes = new Map(seedNodes.map((node) => [node.name, node]));
const choose = (filter: unknown) => filterNodes(readNodeFilter(filter, 'node_filter'), nodes);
const everybody = seedNodes.map(({ name }) => name);
const compute1 = ['compute11', 'compute12', 'compute13', 'compute14'];

test('a filter of thousands is refused by its length', () => {
  const many = Array.from({ length: 2_000 }, () => 1);
  for (const filter of [many, { selectors: many }, { filter_set: many }]) {
    expect(() => choose(filter)).toThrow(/^node_filter(\.\w+)?: has 2000 members, and may have at most 1000$/);
  }
});

describe('a node filter', () => {
  test.each<[string, unknown, readonly string[]]>([
    ['none', null, everybody],
    ['no selectors', [], everybody],
    ['selectors as a list', [{ node_tags: ['compute'], rack_names: ['rack01'] }], compute1],
    [
      'selectors by name',
      { selectors: [{ node_names: ['ntp01'] }, { node_names: ['control01'] }] },
      ['ntp01', 'control01'],
    ],
    ['a filter that asks for nothing, beside others', { filter_set: [{ node_names: ['ntp01'] }, {}] }, everybody],
    [
      'as Shipyard sends it for a group',
      {
        filter_set_type: 'union',
        filter_set: [
          {
            filter_type: 'intersection',
            node_names: [],
            node_tags: ['compute'],
            node_labels: {},
            rack_names: ['rack01'],
          },
        ],
      },
      compute1,
    ],
    [
      'as Shipyard sends it for a task',
      { filter_set_type: 'union', filter_set: [{ filter_type: 'union', node_names: ['ntp01'] }] },
      ['ntp01'],
    ],
    ['a union of no criteria is nobody', { filter_set: [{ filter_type: 'union', node_names: [] }] }, []],
    [
      'a union of criteria',
      { filter_set: [{ filter_type: 'union', node_names: ['ntp01'], rack_names: ['rack03'] }] },
      ['ntp01', 'control01', 'control02', 'control03'],
    ],
    [
      'filters that intersect',
      { filter_set_type: 'intersection', filter_set: [{ node_tags: ['control'] }, { node_tags: ['monitoring'] }, {}] },
      ['control03'],
    ],
  ])('%s', (_, filter, expected) => {
    expect(choose(filter)).toEqual(expected);
  });

  test.each<[string, unknown, string]>([
    ['no object', 'all', 'node_filter: must be a node filter, an object'],
    [
      'an unknown join',
      { filter_set_type: 'xor', filter_set: [] },
      'node_filter.filter_set_type: must be union or intersection',
    ],
    ['no set', {}, 'node_filter.filter_set: must be a list of filters, [] for all nodes'],
    ['an unknown field', [{ node_name: ['a'] }], 'node_filter[0]: node_name: a selector has no such field'],
    [
      'a text for a list',
      { filter_set: [{ node_names: 'ntp01' }] },
      'node_filter.filter_set[0].node_names: must be a list of node names',
    ],
    [
      'what would not be honoured',
      { filter_set: [{ rack_labels: { row: '1' } }] },
      'node_filter.filter_set[0].rack_labels: must be empty: racks have no labels here; rack_names chooses by rack',
    ],
    [
      'a label without a colon',
      { selectors: [{ node_labels: ['dense'] }] },
      'node_filter.selectors[0].node_labels[0]: is "dense", which has 0 colons; it must have exactly one: "key: value"',
    ],
  ])('%s is refused with its field', (_, filter, message) => {
    expect(() => choose(filter)).toThrow(message);
  });
});

describe('a design reference', () => {
  const own = ['http://dh.example:9000', 'http://127.0.0.1:6385'];

  test('another host’s revision is not one of ours', () => {
    const theirs = 'deckhand+http://other.example:9000/api/v1.0/revisions/12/rendered-documents';
    expect(() => parseDesignReference(theirs, 'design_ref', own)).toThrow(
      'design_ref: "other.example:9000" is another host than this one (dh.example:9000, 127.0.0.1:6385)',
    );
    expect(() => parseDesignReference('deckhand+http:///revisions/12/rendered-documents', 'f', own)).toThrow(
      'f: "revisions" is another host than this one',
    );
  });

  test('number, role, address', () => {
    expect(parseDesignReference(7, 'f', own)).toEqual({ revision: 7 });
    expect(parseDesignReference('7', 'f', own)).toEqual({ revision: 7 });
    expect(parseDesignReference('last_site_action', 'f', own)).toEqual({ role: 'last-site-action' });
    expect(
      parseDesignReference('deckhand+http://dh.example:9000/api/v1.0/revisions/12/rendered-documents', 'f', own),
    ).toEqual({ revision: 12 });
  });

  test.each(['', '0', '-1', '1.5', 'newest', '99999999999', 'http://dh.example/revisions/3/rendered-documents'])(
    '%s is none',
    (reference) => {
      expect(() => parseDesignReference(reference, 'design_ref', own)).toThrow(
        /^design_ref: .* is not a revision of a site; it/,
      );
    },
  );
});
