/** Requirements that an allocation has of a node. */
export interface Requirements {
  readonly resourceClass: string;
  /** The node must have all of them. */
  readonly traits: readonly string[];
  /** UUIDs; empty = any node. */
  readonly candidateNodes: readonly string[];
  /** It must own the node or lease it; `null` = any node. */
  readonly owner: string | null;
}

/** Fields of a node that the matching knows. */
export interface Candidate {
  readonly uuid: string;
  readonly name: string | null;
  readonly resourceClass: string | null;
  readonly provisionState: string;
  readonly maintenance: boolean;
  readonly retired: boolean;
  readonly powerState: string | null;
  /** Health by its BMC, as last read; `null` = not known. */
  readonly health: string | null;
  readonly instanceUuid: string | null;
  readonly owner: string | null;
  readonly lessee: string | null;
  readonly traits: readonly string[];
  readonly rack: string | undefined;
  /** Somebody holds its lease: worth another try in a moment. */
  readonly isLocked: boolean;
  /** Somebody has held its lease before. */
  readonly hasLease: boolean;
}

/** Why a node can't be given to an allocation; `text` follows the node's name in a sentence. */
export interface Refusal {
  readonly kind:
    | 'candidate'
    | 'class'
    | 'state'
    | 'maintenance'
    | 'retired'
    | 'health'
    | 'instance'
    | 'power'
    | 'owner'
    | 'traits';
  readonly text: string;
}

/** Lists every reason against the node; none = it fits (seed 003, "Allocation process"; allocation.md §3.1). Pure. */
export function listRefusals(node: Candidate, requirements: Requirements): Refusal[] {
  const missing = requirements.traits.filter((trait) => !node.traits.includes(trait));
  const { owner, candidateNodes } = requirements;
  const refused: (Refusal | false)[] = [
    candidateNodes.length > 0 &&
      !candidateNodes.includes(node.uuid) && { kind: 'candidate', text: 'is not one of candidate_nodes' },
    node.resourceClass !== requirements.resourceClass && {
      kind: 'class',
      text: `has ${node.resourceClass === null ? 'no resource class' : `resource class ${node.resourceClass}`}`,
    },
    node.provisionState !== 'available' && { kind: 'state', text: `is in state '${node.provisionState}'` },
    node.maintenance && { kind: 'maintenance', text: 'is in maintenance' },
    node.retired && { kind: 'retired', text: 'is retired' },
    // many BMCs report no health: that alone keeps no machine back
    node.health === 'Critical' && { kind: 'health', text: 'has critical health by its BMC' },
    node.instanceUuid !== null && { kind: 'instance', text: `has instance ${node.instanceUuid}` },
    node.powerState === null && { kind: 'power', text: 'has no known power state' },
    owner !== null &&
      node.owner !== owner &&
      node.lessee !== owner && { kind: 'owner', text: `neither belongs nor is leased to ${owner}` },
    missing.length > 0 && { kind: 'traits', text: `lacks ${missing.join(', ')}` },
  ];
  return refused.filter((refusal) => refusal !== false);
}

/** One allocation, or those of a group, which are given nodes together or not at all. */
export interface Demand {
  /** Names of the allocations: a node named like one of them comes first. */
  readonly names: readonly (string | null)[];
  readonly count: number;
  /** With fewer none is taken. */
  readonly minCount: number;
  readonly placement: Placement | undefined;
  readonly mayWait: boolean;
  /** Locked nodes are tried again that often. */
  readonly triesLeft: number;
}

export type Verdict =
  | { readonly kind: 'take'; readonly nodes: readonly Candidate[] }
  /** Nodes that would do are locked. */
  | { readonly kind: 'try again' }
  | { readonly kind: 'wait' }
  | { readonly kind: 'fail' };

/**
 * Decides what to do about a demand, given the nodes that fit, in the order in which they are to be tried. All of
 * `count` first; fewer, as long as they are `minCount`, only when neither a lock nor time may bring more. Pure.
 */
export function decideAllocation(demand: Demand, fitting: readonly Candidate[]): Verdict {
  const free = fitting.filter((node) => !node.isLocked);
  const take = (): Verdict => ({
    kind: 'take',
    nodes: selectByRack(namesakesFirst(free, demand), demand.count, demand.placement),
  });
  if (free.length >= demand.count) return take();
  if (free.length < fitting.length && demand.triesLeft > 0) return { kind: 'try again' };
  if (demand.mayWait) return { kind: 'wait' };
  return free.length >= demand.minCount ? take() : { kind: 'fail' };
}

function namesakesFirst(nodes: readonly Candidate[], { names }: Demand): Candidate[] {
  const isNamesake = (node: Candidate): boolean => node.name !== null && names.includes(node.name);
  return [...nodes.filter(isNamesake), ...nodes.filter((node) => !isNamesake(node))];
}

/**
 * Returns which allocation of a group gets which node: its namesake where there is one. Pure.
 * @param nodes not more than allocations
 */
export function pairUp<Allocation extends { readonly name: string | null }>(
  allocations: readonly Allocation[],
  nodes: readonly Candidate[],
): { readonly allocation: Allocation; readonly node: Candidate }[] {
  const namesakes = nodes.flatMap((node) => {
    const allocation = allocations.find(({ name }) => name !== null && name === node.name);
    return allocation ? [{ allocation, node }] : [];
  });
  const others = allocations.filter((allocation) => namesakes.every((pair) => pair.allocation !== allocation));
  const rest = nodes.filter((node) => namesakes.every((pair) => pair.node !== node));
  return [
    ...namesakes,
    ...rest.flatMap((node, index) => {
      const allocation = others[index];
      return allocation ? [{ allocation, node }] : [];
    }),
  ];
}

/** Reasons in the order in which a shortage names them, with the words for some nodes. */
const shortageWords: Readonly<Record<Refusal['kind'] | 'locked', string>> = {
  candidate: 'not among the candidates',
  class: 'of another resource class',
  state: 'not in state available',
  maintenance: 'in maintenance',
  retired: 'retired',
  health: 'with critical health',
  instance: 'with an instance',
  power: 'without a known power state',
  owner: 'neither owned by nor leased to the owner',
  traits: 'without the requested traits',
  locked: 'locked by a conductor at work',
};

/**
 * Explains why there are not enough nodes, Ironic's words first (allocation.md §3.1), then what stands against the nodes of
 * the class (or the candidates), each counted under each of its reasons. Pure.
 * @param nodes those that the request names: of its class, or its candidates
 */
export function describeShortage(requirements: Requirements, nodes: readonly Candidate[], count: number): string {
  const reasons = nodes.map((node) => reasonsNow(node, requirements));
  const isAvailable = (kinds: readonly string[]): boolean => kinds.every((kind) => kind === 'traits');
  const fitting = reasons.filter((kinds) => kinds.length === 0).length;
  const locked = reasons.filter((kinds) => kinds.includes('locked')).length;
  const words =
    fitting > 0
      ? `${fitting} of ${count} nodes of resource class ${requirements.resourceClass} are available`
      : locked > 0
        ? `could not reserve any of ${locked} suitable nodes`
        : reasons.some(isAvailable)
          ? `no suitable nodes have the requested traits ${requirements.traits.join(', ')}`
          : requirements.candidateNodes.length > 0
            ? `none of the requested nodes are available and match the resource class ${requirements.resourceClass}`
            : `no available nodes match the resource class ${requirements.resourceClass}`;
  const counted = (Object.keys(shortageWords) as (keyof typeof shortageWords)[])
    .map((kind) => ({ kind, number: reasons.filter((kinds) => kinds.includes(kind)).length }))
    .filter(({ number }) => number > 0)
    .map(({ kind, number }) => `${number} ${shortageWords[kind]}`);
  const whose = requirements.owner === null ? '' : ' that belong or are leased to the owner';
  const total = `${nodes.length} ${requirements.candidateNodes.length > 0 ? 'candidates' : 'nodes of the class'}${whose}`;
  if (counted.length > 0) return `${words} (${total}: ${counted.join(', ')})`;
  return whose !== '' && nodes.length === 0 ? `${words} (${total})` : words;
}

/** A lock counts where nothing else does. */
function reasonsNow(node: Candidate, requirements: Requirements): (keyof typeof shortageWords)[] {
  const kinds = listRefusals(node, requirements).map(({ kind }) => kind);
  return kinds.length === 0 && node.isLocked ? ['locked'] : kinds;
}

type Placement = 'spread' | 'pack';

interface InRack {
  readonly rack: string | undefined;
}

/**
 * Selects `count` of the nodes, or all when there are fewer; among equals the order given decides. Pure.
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

/** Groups nodes by rack: racks in the order in which they are first seen, the unknown rack last. */
function inRacks<Node extends InRack>(nodes: readonly Node[]): Rack<Node>[] {
  const groups = [...Map.groupBy(nodes, (node) => node.rack)].map(([rack, members]) => ({
    known: rack !== undefined,
    nodes: members,
  }));
  return groups.sort((a, b) => rank(a) - rank(b));
}
