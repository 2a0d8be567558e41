import type { Selector } from '#conductor/model/site/site-run.ts';
import type { SiteNode } from '#conductor/sites/site.ts';

export type SelectableNode = Pick<SiteNode, 'name' | 'tags' | 'labels' | 'rack'>;

/** Nodes found by what selectors ask for: 200 groups over 10,000 nodes must not look at each node for each group. */
export interface NodeIndex {
  /** In the order of the documents; the tables have positions in it, ascending. */
  readonly names: readonly string[];
  readonly byName: Table;
  readonly byTag: Table;
  /** By key, then by value. */
  readonly byLabel: ReadonlyMap<string, Table>;
  readonly byRack: Table;
}
type Table = ReadonlyMap<string, readonly number[]>;

export function indexNodes(nodes: Iterable<SelectableNode>): NodeIndex {
  const names: string[] = [];
  const byName = new Map<string, number[]>();
  const byTag = new Map<string, number[]>();
  const byLabel = new Map<string, Map<string, number[]>>();
  const byRack = new Map<string, number[]>();
  for (const { name, rack, tags, labels } of nodes) {
    const position = names.push(name) - 1;
    file(byName, name, position);
    if (rack !== undefined) file(byRack, rack, position);
    for (const tag of tags) file(byTag, tag, position);
    for (const [key, value] of Object.entries(labels)) {
      const values = byLabel.get(key) ?? new Map<string, number[]>();
      byLabel.set(key, values);
      file(values, value, position);
    }
  }
  return { names, byName, byTag, byLabel, byRack };
}

function file(table: Map<string, number[]>, key: string, position: number): void {
  const positions = table.get(key);
  if (positions === undefined) table.set(key, [position]);
  // a tag that stands twice in a document
  else if (positions.at(-1) !== position) positions.push(position);
}

const indexes = new WeakMap<ReadonlyMap<string, SelectableNode>, NodeIndex>();

/** Indexes a site's nodes as `indexNodes` does; they never change: made once, however often they are planned. */
export function indexOfSite(nodes: ReadonlyMap<string, SelectableNode>): NodeIndex {
  const index = indexes.get(nodes) ?? indexNodes(nodes.values());
  indexes.set(nodes, index);
  return index;
}

/**
 * The names of those that the selectors choose, each once, in the order of the nodes (seed 000, "Selectors"): values of
 * one criterion are alternatives, criteria of one selector intersect, selectors unite; no selectors at all, or one
 * without criteria among them, means all nodes: the index's own list, not a copy.
 */
export function selectIndexed(selectors: readonly Selector[], index: NodeIndex): readonly string[] {
  const chosen = selectors.map((selector) => selectPositions(selector, index));
  if (chosen.length === 0 || chosen.includes(undefined)) return index.names;
  const [only = []] = chosen;
  const positions = chosen.length === 1 ? only : uniteIndexes(chosen.map((each) => each ?? []));
  return positions.map((position) => index.names[position] ?? '');
}

/** Ascending; `undefined` = the selector asks for nothing, which means all. */
export function selectPositions(selector: Selector, index: NodeIndex): readonly number[] | undefined {
  const [rarest, ...others] = criteriaOf(selector, index).toSorted((a, b) => sizeOf(a) - sizeOf(b));
  if (!rarest) return undefined;
  // only of the rarest criterion all nodes are gathered: of a tag that everybody has, those are looked up
  const meets = others.map(lookUp);
  return uniteIndexes(rarest).filter((position) => meets.every((meetsOne) => meetsOne(position)));
}

/** Positions of those that meet a criterion: a list for each of its values. */
type Criterion = readonly (readonly number[])[];

/** Lists the criteria that the selector asks for. */
function criteriaOf(selector: Selector, index: NodeIndex): Criterion[] {
  const { node_names: names = [], node_tags: tags = [], node_labels: labels = [], rack_names: racks = [] } = selector;
  const criteria: Criterion[] = [
    names.map((name) => index.byName.get(name) ?? []),
    tags.map((tag) => index.byTag.get(tag) ?? []),
    labels.map(([key, value]) => index.byLabel.get(key)?.get(value) ?? []),
    racks.map((rack) => index.byRack.get(rack) ?? []),
  ];
  return criteria.filter((lists) => lists.length > 0);
}

function sizeOf(criterion: Criterion): number {
  return criterion.reduce((sum, list) => sum + list.length, 0);
}

/** A few lists, however long, are searched; of many names each is a list of one: those are put together. */
function lookUp(lists: Criterion): (position: number) => boolean {
  if (lists.length <= 8) return (position) => lists.some((list) => includes(list, position));
  const all = new Set(lists.flat());
  return (position) => all.has(position);
}

/** Whether an ascending list has the position. */
function includes(list: readonly number[], position: number): boolean {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((list[middle] ?? position) < position) from = middle + 1;
    else to = middle;
  }
  return list[from] === position;
}

/** Unites ascending lists into an ascending one, each position once. */
export function uniteIndexes(lists: readonly (readonly number[])[]): readonly number[] {
  const [first = []] = lists;
  if (lists.length <= 1) return first;
  return [...new Set(lists.flat())].sort((a, b) => a - b);
}
