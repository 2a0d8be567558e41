import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { naturalKey } from '#conductor/board/render/fleet-columns.ts';
import { type NodeStatus, statusNames, statusOf } from '#conductor/board/render/node-status.ts';
import { type BoardNode, type BoardRow, nameOf } from '#conductor/board/render/render-board.ts';

export interface RackMember {
  readonly row: BoardRow;
  readonly status: NodeStatus;
  /** Unit of the rack, from the bottom; `null` = nobody has noted it. */
  readonly unit: number | null;
}

export interface Rack {
  /** `null`: of nodes that no rack is noted with. */
  readonly name: string | null;
  /** Rows from the top of the rack down, then those without a unit in the order of their names. */
  readonly members: readonly RackMember[];
  /** The worst first; none that is 0. */
  readonly counts: readonly (readonly [NodeStatus, number])[];
}

/** Nodes by rack, racks by name as people count: r2 before r10. Pure. */
export function arrangeRacks(flows: Iterable<FlowSummaryView>, nodes: ReadonlyMap<string, BoardNode>): Rack[] {
  const flowOf = new Map<string, FlowSummaryView>();
  for (const flow of flows) flowOf.set(flow.node_uuid, flow);
  const racks = Map.groupBy(nodes.values(), ({ rack }) => rack);
  return [...racks]
    .map(([name, all]): Rack => {
      const members = all
        .map((node): RackMember => {
          const flow = flowOf.get(node.uuid);
          const row: BoardRow = flow ? { flow, node } : { flow: undefined, node };
          return { row, status: statusOf(row), unit: node.rack_unit };
        })
        .map((member) => ({ member, key: naturalKey(nameOf(member.row)) }))
        .toSorted((a, b) => (b.member.unit ?? 0) - (a.member.unit ?? 0) || compare(a.key, b.key))
        .map(({ member }) => member);
      const counts = statusNames.flatMap((each) => {
        const count = members.filter(({ status }) => status === each).length;
        return count === 0 ? [] : [[each, count] as const];
      });
      return { name, members, counts };
    })
    .toSorted(
      (a, b) =>
        Number(a.name === null) - Number(b.name === null) ||
        compare(naturalKey(a.name ?? ''), naturalKey(b.name ?? '')),
    );
}

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b);
