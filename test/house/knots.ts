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

/** Groups of nodes that can all be reached from each other. */
export function circlesOf(graph: Graph): string[][] {
  const reached = new Map(knotted(graph).map((node) => [node, reachable(graph, node)] as const));
  const circles = new Map<string, string[]>();
  for (const [node, from] of reached) {
    const group = [...reached.keys()].filter((other) => from.has(other) && reached.get(other)?.has(node));
    circles.set(group[0] ?? node, group);
  }
  return [...circles.values()];
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
