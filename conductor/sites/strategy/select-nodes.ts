import type { SiteNode } from '#conductor/sites/site.ts';
import type { Selector } from '#conductor/sites/strategy/site-run.ts';

export type SelectableNode = Pick<SiteNode, 'name' | 'tags' | 'labels' | 'rack'>;

/** Nodes found by what selectors ask for: 200 groups over 10,000 nodes must not look at each node for each group. */
export interface NodeIndex {
  /** In the order of the documents; the other tables have positions in it, ascending. */
  readonly names: readonly string[];
  readonly byName: ReadonlyMap<string, readonly number[]>;
  readonly byTag: ReadonlyMap<string, readonly number[]>;
  readonly byLabel: ReadonlyMap<string, readonly number[]>;
  readonly byRack: ReadonlyMap<string, readonly number[]>;
}

export function indexNodes(nodes: Iterable<SelectableNode>): NodeIndex {
  const names: string[] = [];
  const byName = new Map<string, number[]>();
  const byTag = new Map<string, number[]>();
  const byLabel = new Map<string, number[]>();
  const byRack = new Map<string, number[]>();
  for (const node of nodes) {
    const position = names.push(node.name) - 1;
    file(byName, node.name, position);
    if (node.rack !== undefined) file(byRack, node.rack, position);
    for (const tag of node.tags) file(byTag, tag, position);
    for (const key of Object.keys(node.labels)) file(byLabel, labelKey(key, node.labels[key] ?? ''), position);
  }
  return { names, byName, byTag, byLabel, byRack };
}

function file(table: Map<string, number[]>, key: string, position: number): void {
  const positions = table.get(key);
  if (positions === undefined) table.set(key, [position]);
  // a tag that stands twice in a document
  else if (positions.at(-1) !== position) positions.push(position);
}

/** No text of a document has U+0000. */
function labelKey(key: string, value: string): string {
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
  const labels = selector.node_labels?.map(([key, value]) => labelKey(key, value));
  const criteria = [
    alternatives(index.byName, selector.node_names),
    alternatives(index.byTag, selector.node_tags),
    alternatives(index.byLabel, labels),
    alternatives(index.byRack, selector.rack_names),
  ].filter((positions) => positions !== undefined);
  return intersect(criteria);
}

function alternatives(
  table: ReadonlyMap<string, readonly number[]>,
  values: readonly string[] | undefined,
): readonly number[] | undefined {
  if (values === undefined || values.length === 0) return undefined;
  return unite(values.map((value) => table.get(value) ?? []));
}

/** Of ascending lists, ascending, each position once. */
export function unite(lists: readonly (readonly number[])[]): readonly number[] {
  const [first = []] = lists;
  if (lists.length <= 1) return first;
  return [...new Set(lists.flat())].sort((a, b) => a - b);
}

/** Of ascending lists; `undefined` for none. */
export function intersect(lists: readonly (readonly number[])[]): readonly number[] | undefined {
  const [smallest, ...others] = lists.toSorted((a, b) => a.length - b.length);
  return others.reduce<readonly number[] | undefined>(
    (kept, other) => kept?.filter((position) => isAmong(position, other)),
    smallest,
  );
}

/** By halving: a tag that all nodes have, asked for by each of 200 groups, would be 200 sets of all nodes. */
function isAmong(position: number, ascending: readonly number[]): boolean {
  let [from, to] = [0, ascending.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const value = ascending[middle] ?? 0;
    if (value === position) return true;
    if (value < position) from = middle + 1;
    else to = middle;
  }
  return false;
}
