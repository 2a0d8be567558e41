import type { Queryable } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/**
 * Looks whether nodes are in service still, as far as their records say: active, on, without maintenance and fault.
 * @returns reason for each that is not; of one that has no record as well
 */
export async function findOutOfService(db: Queryable, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .select({
      name: nodes.name,
      state: nodes.provisionState,
      power: nodes.powerState,
      maintenance: nodes.maintenance,
      maintenanceReason: nodes.maintenanceReason,
      fault: nodes.fault,
    })
    .from(nodes)
    .where(isAmong(nodes.name, names));
  const known = new Map(rows.map((row) => [row.name ?? '', whyOut(row)]));
  return new Map(
    names.flatMap((name): [string, string][] => {
      const why = known.has(name) ? known.get(name) : 'there is no such node any more';
      return why === undefined ? [] : [[name, why]];
    }),
  );
}

function whyOut(node: {
  readonly state: string;
  readonly power: string | null;
  readonly maintenance: boolean;
  readonly maintenanceReason: string | null;
  readonly fault: string | null;
}): string | undefined {
  if (node.state !== 'active') return `it is in '${node.state}'`;
  if (node.maintenance) return `it is in maintenance${node.maintenanceReason ? `: ${node.maintenanceReason}` : ''}`;
  if (node.fault !== null) return `it has the fault ${node.fault}`;
  return node.power === 'power on' ? undefined : `it is ${node.power ?? 'of unknown power'}`;
}
