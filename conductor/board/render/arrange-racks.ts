import type { FlowSummaryView } from '#conductor/api/flows.ts';
import type { BoardNode, BoardRow } from '#conductor/board/render/render-board.ts';

/** Classes of nodes for somebody who looks at a rack, the worst first, each with a shape of its own. */
export const nodeClasses = {
  failed: '✖',
  retrying: '↻',
  'waits for long': '◔',
  held: '‖',
  'in maintenance': '⚑',
  'at work': '▶',
  'not ready': '◌',
  free: '○',
  'in use': '●',
} as const;
export type NodeClass = keyof typeof nodeClasses;
const classNames = Object.keys(nodeClasses) as NodeClass[];

export interface Rack {
  /** `null`: of nodes that no rack is noted with. */
  readonly name: string | null;
  /** In the order of their names. */
  readonly members: readonly { readonly row: BoardRow; readonly class: NodeClass }[];
  /** The worst first; none that is 0. */
  readonly counts: readonly (readonly [NodeClass, number])[];
}

/** Nodes by rack, racks by name as people count: r2 before r10. Pure. */
export function arrangeRacks(flows: Iterable<FlowSummaryView>, nodes: ReadonlyMap<string, BoardNode>): Rack[] {
  const flowOf = new Map<string, FlowSummaryView>();
  for (const flow of flows) flowOf.set(flow.node_uuid, flow);
  const racks = Map.groupBy(nodes.values(), ({ rack }) => rack);
  return [...racks]
    .map(([name, all]): Rack => {
      const members = all
        .map((node) => ({ row: rowOf(node, flowOf.get(node.uuid)), class: classOf(node, flowOf.get(node.uuid)) }))
        .toSorted((a, b) => inOrder.compare(nameOf(a.row), nameOf(b.row)));
      const counts = classNames.flatMap((each) => {
        const count = members.filter((member) => member.class === each).length;
        return count === 0 ? [] : [[each, count] as const];
      });
      return { name, members, counts };
    })
    .toSorted(
      (a, b) => Number(a.name === null) - Number(b.name === null) || inOrder.compare(a.name ?? '', b.name ?? ''),
    );
}

const inOrder = new Intl.Collator('en', { numeric: true });

export const nameOf = ({ node, flow }: BoardRow): string => node?.name ?? flow?.node_name ?? node?.uuid ?? '';

const rowOf = (node: BoardNode, flow: FlowSummaryView | undefined): BoardRow =>
  flow ? { flow, node } : { flow: undefined, node };

const ofStatus: Readonly<Record<FlowSummaryView['status'], NodeClass>> = {
  failed: 'failed',
  retrying: 'retrying',
  slow: 'waits for long',
  held: 'held',
  waiting: 'at work',
  working: 'at work',
};

function classOf({ provision_state: state, maintenance }: BoardNode, flow: FlowSummaryView | undefined): NodeClass {
  if (flow) return ofStatus[flow.status];
  if (/failed|error/.test(state)) return 'failed';
  if (maintenance) return 'in maintenance';
  if (state === 'active' || state === 'rescue') return 'in use';
  return state === 'available' ? 'free' : 'not ready';
}
