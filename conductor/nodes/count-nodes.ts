import { count, desc, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { visibleNodes } from '#conductor/nodes/node-ownership.ts';

/** Nodes by provision state, the most first. @param project only what a caller bound to it may know of */
export function countNodes(db: Queryable, project: string | undefined) {
  return db
    .select({
      state: nodes.provisionState,
      nodes: count(),
      inMaintenance: sql<number>`count(*) filter (where ${nodes.maintenance})::int`,
    })
    .from(nodes)
    .where(visibleNodes(project))
    .groupBy(nodes.provisionState)
    .orderBy(desc(count()), nodes.provisionState);
}
