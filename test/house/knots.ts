/** Imports between folders, or between files. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

export function graphOf(arrows: Iterable<readonly [from: string, to: string]>): Graph {
  const graph = new Map<string, Set<string>>();
  for (const [from, to] of arrows) {
    for (const node of [from, to]) if (!graph.has(node)) graph.set(node, new Set());
    if (from !== to) graph.get(from)?.add(to);
  }
  return graph;
}

/** All that can be reached from there, itself only by way of others. */
function reachable(graph: Graph, start: string): Set<string> {
  const seen = new Set<string>();
  const open = [...(graph.get(start) ?? [])];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    open.push(...(graph.get(node) ?? []));
  }
  return seen;
}

/** The nodes from which arrows lead back to themselves. */
export function knotted(graph: Graph): string[] {
  return [...graph.keys()].filter((node) => reachable(graph, node).has(node)).sort();
}

/** Counts as few arrows as a greedy order of the nodes leaves pointing upwards (Eades, Lin, Smyth). */
export function countBackArrows(graph: Graph): number {
  const left = new Set([...graph.keys()].sort());
  const outOf = (node: string) => [...(graph.get(node) ?? [])].filter((other) => left.has(other)).length;
  const into = (node: string) => [...left].filter((other) => graph.get(other)?.has(node)).length;
  const top: string[] = [];
  const bottom: string[] = [];
  while (left.size > 0) {
    const sink = [...left].find((node) => outOf(node) === 0);
    const source = [...left].find((node) => into(node) === 0);
    const best = [...left].reduce((a, b) => (outOf(b) - into(b) > outOf(a) - into(a) ? b : a));
    const next = sink ?? source ?? best;
    left.delete(next);
    if (sink === undefined) top.push(next);
    else bottom.unshift(next);
  }
  const order = new Map([...top, ...bottom].map((node, index) => [node, index]));
  return [...graph].reduce(
    (sum, [from, tos]) => sum + [...tos].filter((to) => (order.get(to) ?? 0) < (order.get(from) ?? 0)).length,
    0,
  );
}
