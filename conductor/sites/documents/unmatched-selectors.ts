import type { SiteFault } from '#conductor/model/site-fault.ts';
import type { GroupDefinition, Selector } from '#conductor/model/site-run.ts';
import { documentFault, fieldFault, namesThereAre } from '#conductor/sites/documents/schema-faults.ts';
import type { SiteDocument } from '#conductor/sites/site-document.ts';
import type { NodeIndex } from '#conductor/sites/strategy/select-nodes.ts';

/** Told one by one, with what was probably meant: to look for it among ten thousand names takes its time. */
const faultTexts = 20;

/** Values in selectors that no node has: mostly misspelt, also where others choose nodes all the same. Pure. */
export function unmatchedSelectors(
  document: SiteDocument,
  groups: readonly GroupDefinition[],
  index: NodeIndex,
): SiteFault[] {
  const unmatched = groups.flatMap(({ selectors }, place) =>
    selectors.flatMap((selector, nth) => unmatchedOf(selector, index).map((value) => ({ ...value, place, nth }))),
  );
  if (unmatched.length === 0) return [];
  const there: Readonly<Record<Criterion, readonly string[]>> = {
    node_names: [...index.byName.keys()],
    node_tags: [...index.byTag.keys()],
    node_labels: [...index.byLabel].flatMap(([key, values]) => [...values.keys()].map((value) => `${key}: ${value}`)),
    rack_names: [...index.byRack.keys()],
  };
  const faults = unmatched.slice(0, faultTexts).map(({ criterion, value, at, place, nth }) => {
    const message = `${value} is no node's${namesThereAre(value, there[criterion])}`;
    const path = ['data', 'groups', place, 'selectors', nth, criterion, at];
    return fieldFault(document, path, message, 'UnmatchedSelector', 'Warning');
  });
  const more = unmatched.length - faultTexts;
  if (more <= 0) return faults;
  const message = `${more} more ${more === 1 ? 'value in selectors is' : 'values in selectors are'} no node's`;
  return [...faults, documentFault(document, message, 'UnmatchedSelector', 'Warning')];
}

type Criterion = keyof Selector;

interface Unmatched {
  readonly criterion: Criterion;
  readonly value: string;
  readonly at: number;
}

function unmatchedOf(selector: Selector, index: NodeIndex): Unmatched[] {
  const among = (criterion: Exclude<Criterion, 'node_labels'>, table: ReadonlyMap<string, unknown>): Unmatched[] =>
    (selector[criterion] ?? []).flatMap((value, at) => (table.has(value) ? [] : [{ criterion, value, at }]));
  const labels = (selector.node_labels ?? []).flatMap(([key, value], at): Unmatched[] =>
    index.byLabel.get(key)?.has(value) ? [] : [{ criterion: 'node_labels', value: `${key}: ${value}`, at }],
  );
  return [
    ...among('node_names', index.byName),
    ...among('node_tags', index.byTag),
    ...labels,
    ...among('rack_names', index.byRack),
  ];
}
