/** The positions that each position needs; `undefined` = not in the graph. */
type Needs = readonly (readonly number[] | undefined)[];

/**
 * Each after all that it needs; of those that may come next, the first. What is in a circle, or hangs off one, is left out
 * (Kahn's way).
 */
export function orderByNeeds(needs: Needs): number[] {
  const dependants: number[][] = needs.map(() => []);
  const missing = needs.map((each) => each?.length ?? -1);
  needs.forEach((each, index) => {
    for (const needed of each ?? []) dependants[needed]?.push(index);
  });
  const ready = needs.flatMap((each, index) => (each?.length === 0 ? [index] : []));
  const order: number[] = [];
  for (let next = ready.shift(); next !== undefined; next = ready.shift()) {
    order.push(next);
    for (const dependant of dependants[next] ?? []) {
      missing[dependant] = (missing[dependant] ?? 0) - 1;
      if (missing[dependant] === 0) insert(ready, dependant);
    }
  }
  return order;
}

function insert(ascending: number[], value: number): void {
  const place = ascending.findIndex((each) => each > value);
  ascending.splice(place < 0 ? ascending.length : place, 0, value);
}

/**
 * Circles in a graph, none sharing a member with another: each a walk along the edges that would end where it begins.
 * What merely leads to a circle, or hangs off one, is in none of them.
 */
export function findCycles(edges: Needs): number[][] {
  const left = new Set(edges.flatMap((each, index) => (each === undefined ? [] : [index])));
  const cycles: number[][] = [];
  for (;;) {
    dropDeadEnds(edges, left);
    const [start] = left;
    if (start === undefined) return cycles;
    const cycle = walk(edges, left, start);
    cycles.push(cycle);
    for (const member of cycle) left.delete(member);
  }
}

/** Until everything left points to something left: then any walk ends in a circle. */
function dropDeadEnds(edges: Needs, left: Set<number>): void {
  const pointers = new Map<number, number[]>();
  const out = new Map<number, number>();
  for (const node of left) {
    const targets = (edges[node] ?? []).filter((target) => left.has(target));
    out.set(node, targets.length);
    for (const target of targets) pointers.set(target, [...(pointers.get(target) ?? []), node]);
  }
  const dead = [...left].filter((node) => out.get(node) === 0);
  for (let node = dead.pop(); node !== undefined; node = dead.pop()) {
    left.delete(node);
    for (const pointer of pointers.get(node) ?? []) {
      const rest = (out.get(pointer) ?? 0) - 1;
      out.set(pointer, rest);
      if (rest === 0) dead.push(pointer);
    }
  }
}

/** The circle begins with its member that comes first. */
function walk(edges: Needs, left: ReadonlySet<number>, start: number): number[] {
  const places = new Map<number, number>();
  const path: number[] = [];
  let node = start;
  while (!places.has(node)) {
    places.set(node, path.push(node) - 1);
    node = edges[node]?.find((target) => left.has(target)) ?? start;
  }
  const cycle = path.slice(places.get(node));
  const first = cycle.indexOf(Math.min(...cycle));
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}
