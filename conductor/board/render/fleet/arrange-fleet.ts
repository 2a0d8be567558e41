import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { parseFilter } from '#conductor/board/render/fleet/filter-rows.ts';
import { type FleetColumn, type FleetColumnName, fleetColumns } from '#conductor/board/render/fleet-columns.ts';
import { type BoardNode, type BoardRow, uuidOf } from '#conductor/board/render/render-board.ts';
import { compareTexts } from '#shared/compare-texts.ts';

export interface FleetSort {
  readonly column: FleetColumnName;
  readonly isDown: boolean;
}

export interface FleetPicture {
  readonly flows: Iterable<FlowSummaryView>;
  readonly nodes: ReadonlyMap<string, BoardNode>;
  /** The filter as `parseFilter` reads it. */
  readonly filter: string;
  readonly sort: FleetSort;
}

/**
 * Arranges the nodes that the filter leaves, in the order of a column; nodes of one value are in order of their names.
 * Pure.
 * @param former the rows as they stood before: sorting what is nearly in order costs little
 */
export function arrangeFleet(
  { flows, nodes, filter, sort }: FleetPicture,
  former: readonly BoardRow[] = [],
): readonly BoardRow[] {
  const flowOf = new Map<string, FlowSummaryView>();
  for (const flow of flows) flowOf.set(flow.node_uuid, flow);
  const isWanted = parseFilter(filter);
  const rows: BoardRow[] = [];
  const seen = new Set<string>();
  const add = (uuid: string): void => {
    if (seen.has(uuid)) return;
    seen.add(uuid);
    const [flow, node] = [flowOf.get(uuid), nodes.get(uuid)];
    const row: BoardRow | undefined = flow ? { flow, node } : node && { flow: undefined, node };
    if (row && isWanted(row)) rows.push(row);
  };
  for (const row of former) add(uuidOf(row));
  for (const uuid of nodes.keys()) add(uuid);
  for (const uuid of flowOf.keys()) add(uuid);
  const { keyOf }: FleetColumn = fleetColumns[sort.column];
  const { keyOf: nameKeyOf }: FleetColumn = fleetColumns.node;
  const direction = sort.isDown ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: keyOf(row), name: nameKeyOf(row) }));
  keyed.sort((a, b) => direction * compareTexts(a.key, b.key) || compareTexts(a.name, b.name));
  return keyed.map(({ row }) => row);
}
