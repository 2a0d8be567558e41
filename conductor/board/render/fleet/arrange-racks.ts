import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { naturalKey } from '#conductor/board/render/fleet-columns.ts';
import { type NodeStatus, statusNames, statusOf } from '#conductor/board/render/node-status.ts';
import { type BoardNode, type BoardRow, nameOf } from '#conductor/board/render/render-board.ts';
import { compareTexts } from '#shared/compare-texts.ts';

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

/**
 * Arranges nodes by rack, racks by name as people count: r2 before r10. Pure.
 * @param former the racks as they stood before: one of which nothing has changed is the same object again
 */
export function arrangeRacks(
  flows: Iterable<FlowSummaryView>,
  nodes: Iterable<BoardNode>,
  former: readonly Rack[] = [],
): Rack[] {
  const flowOf = new Map<string, FlowSummaryView>();
  for (const flow of flows) flowOf.set(flow.node_uuid, flow);
  const known = new Map(former.map((rack) => [rack.name, rack]));
  const formerRows = new Map<BoardNode, BoardRow>();
  for (const { members } of former) for (const { row } of members) if (row.node) formerRows.set(row.node, row);
  return [...Map.groupBy(nodes, ({ rack }) => rack)]
    .map(([name, all]) => {
      const rack = known.get(name);
      const isSame = (node: BoardNode): boolean => {
        const row = formerRows.get(node);
        return row !== undefined && row.flow === flowOf.get(node.uuid);
      };
      return rack?.members.length === all.length && all.every(isSame) ? rack : arrangeRack(name, all, flowOf);
    })
    .toSorted(
      (a, b) =>
        Number(a.name === null) - Number(b.name === null) ||
        compareTexts(naturalKey(a.name ?? ''), naturalKey(b.name ?? '')),
    );
}

function arrangeRack(
  name: string | null,
  nodes: readonly BoardNode[],
  flowOf: ReadonlyMap<string, FlowSummaryView>,
): Rack {
  const members = nodes
    .map((node) => {
      const flow = flowOf.get(node.uuid);
      const row: BoardRow = flow ? { flow, node } : { flow: undefined, node };
      const member: RackMember = { row, status: statusOf(row), unit: node.rack_unit };
      return { member, key: naturalKey(nameOf(row)) };
    })
    .toSorted((a, b) => (b.member.unit ?? 0) - (a.member.unit ?? 0) || compareTexts(a.key, b.key))
    .map(({ member }) => member);
  const counts = statusNames.flatMap((each) => {
    const count = members.filter(({ status }) => status === each).length;
    return count === 0 ? [] : [[each, count] as const];
  });
  return { name, members, counts };
}
