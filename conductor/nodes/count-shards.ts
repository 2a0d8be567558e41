import { asc, count } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/** How many nodes each shard has, by name; those without one are together under `null`, at the end. */
export function countShards(db: Queryable): Promise<{ readonly shard: string | null; readonly count: number }[]> {
  return db.select({ shard: nodes.shard, count: count() }).from(nodes).groupBy(nodes.shard).orderBy(asc(nodes.shard));
}
