export type Placement = 'spread' | 'pack';

interface InRack {
  readonly rack: string | undefined;
}

/**
 * `count` of the nodes, or all when there are fewer; among equals the order given decides. Pure.
 *
 * `spread`: as evenly over the racks as they allow, so that the loss of one rack takes as few as possible. `pack`: in as
 * few racks as possible, in the smallest one that suffices. Nodes whose rack is not known may all stand in one: they
 * count as a rack of their own, which comes last.
 */
export function selectByRack<Node extends InRack>(
  nodes: readonly Node[],
  count: number,
  placement: Placement | undefined,
): Node[] {
  if (placement === undefined) return nodes.slice(0, count);
  return placement === 'spread' ? spread(nodes, count) : pack(nodes, count);
}

/** One node of each rack in turn: no rack gives its second while another has not given its first. */
function spread<Node extends InRack>(nodes: readonly Node[], count: number): Node[] {
  const racks = inRacks(nodes);
  const rounds = Math.max(0, ...racks.map((rack) => rack.nodes.length));
  return Array.from({ length: rounds }, (_, round) => racks.flatMap((rack) => rack.nodes.slice(round, round + 1)))
    .flat()
    .slice(0, count);
}

function pack<Node extends InRack>(nodes: readonly Node[], count: number): Node[] {
  const bySize = inRacks(nodes).sort((a, b) => rank(a) - rank(b) || b.nodes.length - a.nodes.length);
  const chosen: Node[] = [];
  while (chosen.length < count) {
    const missing = count - chosen.length;
    const suffices = bySize.filter((rack) => rack.known && rack.nodes.length >= missing).at(-1);
    const next = suffices ?? bySize[0];
    if (!next) break;
    bySize.splice(bySize.indexOf(next), 1);
    chosen.push(...next.nodes.slice(0, missing));
  }
  return chosen;
}

interface Rack<Node> {
  readonly known: boolean;
  readonly nodes: readonly Node[];
}

function rank(rack: Rack<unknown>): number {
  return rack.known ? 0 : 1;
}

/** In the order in which they are first seen, the unknown one last. */
function inRacks<Node extends InRack>(nodes: readonly Node[]): Rack<Node>[] {
  const groups = [...Map.groupBy(nodes, (node) => node.rack)].map(([rack, members]) => ({
    known: rack !== undefined,
    nodes: members,
  }));
  return groups.sort((a, b) => rank(a) - rank(b));
}
