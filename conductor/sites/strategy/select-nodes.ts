import type { SiteNode } from '#conductor/sites/site.ts';
import type { Selector } from '#conductor/sites/strategy/site-run.ts';

export type SelectableNode = Pick<SiteNode, 'name' | 'tags' | 'labels' | 'rack'>;

/** Nodes found by what selectors ask for: 200 groups over 10,000 nodes must not look at each node for each group. */
export interface NodeIndex {
  /** In the order of the documents; the other tables have positions in it, ascending. */
  readonly nodes: readonly SelectableNode[];
  readonly names: readonly string[];
  readonly byName: ReadonlyMap<string, readonly number[]>;
  readonly byTag: ReadonlyMap<string, readonly number[]>;
  readonly byLabel: ReadonlyMap<string, readonly number[]>;
  readonly byRack: ReadonlyMap<string, readonly number[]>;
}

export function indexNodes(nodes: Iterable<SelectableNode>): NodeIndex {
  const all = [...nodes];
  const names = all.map(({ name }) => name);
  const byName = new Map<string, number[]>();
  const byTag = new Map<string, number[]>();
  const byLabel = new Map<string, number[]>();
  const byRack = new Map<string, number[]>();
  for (const [position, node] of all.entries()) {
    file(byName, node.name, position);
    if (node.rack !== undefined) file(byRack, node.rack, position);
    for (const tag of node.tags) file(byTag, tag, position);
    for (const key of Object.keys(node.labels)) file(byLabel, labelKey(key, node.labels[key] ?? ''), position);
  }
  return { nodes: all, names, byName, byTag, byLabel, byRack };
}

function file(table: Map<string, number[]>, key: string, position: number): void {
  const positions = table.get(key);
  if (positions === undefined) table.set(key, [position]);
  // a tag that stands twice in a document
  else if (positions.at(-1) !== position) positions.push(position);
}

/** In `byLabel`. No text of a document has U+0000. */
export function labelKey(key: string, value: string): string {
  return `${key}\u0000${value}`;
}

/**
 * The names of those that the selectors choose, each once, in the order of the nodes (seed 000, "Selectors"): values of
 * one criterion are alternatives, criteria of one selector intersect, selectors unite; no selectors at all, or one
 * without criteria among them, means all nodes.
 */
export function selectNodes(selectors: readonly Selector[], nodes: Iterable<SelectableNode>): string[] {
  return [...selectIndexed(selectors, indexNodes(nodes))];
}

/** As `selectNodes`. All nodes are the index's own list, not a copy. */
export function selectIndexed(selectors: readonly Selector[], index: NodeIndex): readonly string[] {
  const chosen = selectors.map((selector) => selectPositions(selector, index));
  if (chosen.length === 0 || chosen.includes(undefined)) return index.names;
  const [only = []] = chosen;
  const positions = chosen.length === 1 ? only : unite(chosen.map((each) => each ?? []));
  return positions.map((position) => index.names[position] ?? '');
}

/** Ascending; `undefined` = the selector asks for nothing, which means all. */
export function selectPositions(selector: Selector, index: NodeIndex): readonly number[] | undefined {
  const criteria = criteriaOf(selector, index);
  const [smallest] = criteria.toSorted((a, b) => a.most - b.most);
  if (!smallest) return undefined;
  // only of the rarest criterion all nodes are gathered: a tag that everybody has is looked up at those
  const others = criteria.filter((each) => each !== smallest);
  return unite(smallest.lists).filter((position) => {
    const node = index.nodes[position];
    return node !== undefined && others.every(({ isMet }) => isMet(node));
  });
}

interface Criterion {
  /** Positions of those that meet it, a list for each of its values. */
  readonly lists: readonly (readonly number[])[];
  readonly most: number;
  readonly isMet: (node: SelectableNode) => boolean;
}

/** Those that the selector asks for. */
function criteriaOf(selector: Selector, index: NodeIndex): Criterion[] {
  const { node_names: names = [], node_tags: tags = [], node_labels: labels = [], rack_names: racks = [] } = selector;
  const [wantedNames, wantedTags, wantedRacks] = [new Set(names), new Set(tags), new Set(racks)];
  const keys = labels.map(([key, value]) => labelKey(key, value));
  const criterion = (
    table: ReadonlyMap<string, readonly number[]>,
    values: readonly string[],
    isMet: Criterion['isMet'],
  ): Criterion[] => {
    if (values.length === 0) return [];
    const lists = values.map((value) => table.get(value) ?? []);
    return [{ lists, most: lists.reduce((sum, list) => sum + list.length, 0), isMet }];
  };
  return [
    ...criterion(index.byName, names, ({ name }) => wantedNames.has(name)),
    ...criterion(index.byTag, tags, (node) => node.tags.some((tag) => wantedTags.has(tag))),
    ...criterion(index.byLabel, keys, (node) =>
      labels.some(([key, value]) => Object.hasOwn(node.labels, key) && node.labels[key] === value),
    ),
    ...criterion(index.byRack, racks, ({ rack }) => rack !== undefined && wantedRacks.has(rack)),
  ];
}

/** Of ascending lists, ascending, each position once. */
export function unite(lists: readonly (readonly number[])[]): readonly number[] {
  const [first = []] = lists;
  if (lists.length <= 1) return first;
  return [...new Set(lists.flat())].sort((a, b) => a - b);
}
