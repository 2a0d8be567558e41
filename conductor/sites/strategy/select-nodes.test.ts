import { describe, expect, test } from 'vitest';
import type { Selector } from '#conductor/model/site/site-run.ts';
import { indexNodes, type SelectableNode, selectIndexed } from '#conductor/sites/strategy/select-nodes.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const nodes: readonly SelectableNode[] = [
  { name: 'node01', rack: 'rack01', tags: ['control'], labels: {} },
  { name: 'node02', rack: 'rack02', tags: ['control'], labels: {} },
  { name: 'node03', rack: 'rack01', tags: ['compute', 'control'], labels: { ucp_control_plane: 'enabled' } },
  { name: 'node04', rack: 'rack02', tags: [], labels: { ucp_control_plane: 'enabled' } },
];

function selectNodes(selectors: readonly Selector[], among: readonly SelectableNode[]): readonly string[] {
  return selectIndexed(selectors, indexNodes(among));
}

describe('selectors (seed 000)', () => {
  test('its example: criteria of a selector intersect, selectors unite', () => {
    const selectors: Selector[] = [
      { node_names: ['node01', 'node02'], rack_names: ['rack01'], node_tags: ['control'] },
      { node_names: ['node04'], node_labels: [['ucp_control_plane', 'enabled']] },
    ];
    expect(selectNodes(selectors, nodes)).toEqual(['node01', 'node04']);
  });

  test.each<[string, Selector[], string[]]>([
    ['no selectors', [], ['node01', 'node02', 'node03', 'node04']],
    ['a selector without criteria', [{}], ['node01', 'node02', 'node03', 'node04']],
    ['empty lists', [{ node_names: [], node_tags: [] }], ['node01', 'node02', 'node03', 'node04']],
    ['one without criteria beside others', [{ node_names: ['node01'] }, {}], ['node01', 'node02', 'node03', 'node04']],
    ['an empty list beside a criterion', [{ node_names: [], node_tags: ['compute'] }], ['node03']],
    ['alternatives in the order of the nodes', [{ node_names: ['node04', 'node02'] }], ['node02', 'node04']],
    [
      'two labels are alternatives',
      [
        {
          node_labels: [
            ['a', 'b'],
            ['ucp_control_plane', 'enabled'],
          ],
        },
      ],
      ['node03', 'node04'],
    ],
    ['a label of another value', [{ node_labels: [['ucp_control_plane', 'disabled']] }], []],
    ['what nobody has', [{ rack_names: ['rack09'] }], []],
    ['a name that objects have', [{ node_labels: [['constructor', 'x']], node_tags: ['toString'] }], []],
  ])('%s', (_, selectors, expected) => {
    expect(selectNodes(selectors, nodes)).toEqual(expected);
  });
});

const word = fc.constantFrom('a', 'b', 'c');
const words = fc.option(fc.array(word, { maxLength: 2 }), { nil: undefined });
const anyNodes = fc
  .array(
    fc.record({
      rack: fc.option(word, { nil: undefined }),
      tags: fc.array(word, { maxLength: 3 }),
      labels: fc.dictionary(word, word, { maxKeys: 2 }),
    }),
    { maxLength: 8 },
  )
  .map((list) =>
    list.map(({ rack, ...node }, index) => ({ name: `n${index}`, ...node, ...(rack === undefined ? {} : { rack }) })),
  );
const anySelector: fc.Arbitrary<Selector> = fc
  .record({
    node_names: fc.option(
      fc.array(
        fc.integer({ min: 0, max: 15 }).map((index) => `n${index}`),
        { maxLength: 12 },
      ),
      { nil: undefined },
    ),
    node_tags: words,
    rack_names: words,
    node_labels: fc.option(fc.array(fc.tuple(word, word), { maxLength: 2 }), { nil: undefined }),
  })
  .map((selector) => Object.fromEntries(Object.entries(selector).filter(([, value]) => value !== undefined)));

/** The seed's sentences, one node at a time. */
function isChosen(node: SelectableNode, selectors: readonly Selector[]): boolean {
  const asks = (values: readonly unknown[] | undefined): boolean => values !== undefined && values.length > 0;
  const meets = ({ node_names, node_tags, node_labels, rack_names }: Selector): boolean =>
    (!asks(node_names) || node_names?.includes(node.name) === true) &&
    (!asks(node_tags) || node.tags.some((tag) => node_tags?.includes(tag))) &&
    (!asks(node_labels) || node_labels?.some(([key, value]) => node.labels[key] === value) === true) &&
    (!asks(rack_names) || (node.rack !== undefined && rack_names?.includes(node.rack) === true));
  return selectors.length === 0 || selectors.some(meets);
}

test('any selectors over any nodes choose what the seed says, each once and in order', () => {
  fc.assert(
    fc.property(anyNodes, fc.array(anySelector, { maxLength: 3 }), (some, selectors) => {
      const expected = some.filter((node) => isChosen(node, selectors)).map(({ name }) => name);
      expect(selectNodes(selectors, some)).toEqual(expected);
    }),
  );
});
