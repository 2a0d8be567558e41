import { and, gt, inArray, isNotNull, sql } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';

/** Ended flows of a node that are kept, with their steps and events; the history has the rest in a line each. */
const keptFlows = 20;

/** Deletes the ended flows beyond the newest of each node. */
export async function pruneFlows(context: Pick<EngineContext, 'db' | 'log'>): Promise<void> {
  const { db } = context;
  const ranked = db.$with('ranked').as(
    db
      .select({
        uuid: flows.uuid,
        age: sql<number>`row_number() over (partition by ${flows.nodeUuid} order by ${flows.endedAt} desc)`.as('age'),
      })
      .from(flows)
      .where(and(isNotNull(flows.endedAt), isNotNull(flows.nodeUuid))),
  );
  const old = db.with(ranked).select({ uuid: ranked.uuid }).from(ranked).where(gt(ranked.age, keptFlows));
  const deleted = await db
    .delete(flows)
    .where(and(isNotNull(flows.endedAt), inArray(flows.uuid, old)))
    .returning({ uuid: flows.uuid });
  if (deleted.length > 0) context.log.info({ flows: deleted.length }, 'old flows deleted');
}
