import { and, eq, inArray, notInArray, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { siteNodes } from '#conductor/db/schema/site.ts';
import { siteActions } from '#conductor/db/schema/site-action.ts';

/** A deploy that has succeeded. */
export interface EndedDeploy {
  readonly name: string;
  readonly nodeUuid: string;
  readonly instanceUuid: string | null;
  readonly revisionId: number;
  readonly designHash: string;
  readonly actionId: string;
}

/** Remembers what the site has made of its nodes. Safe to repeat; a node that has got another name has one row. */
export async function recordDeploys(db: Queryable, deploys: readonly EndedDeploy[]): Promise<void> {
  if (deploys.length === 0) return;
  const uuids = deploys.map(({ nodeUuid }) => nodeUuid);
  const names = deploys.map(({ name }) => name);
  await db.transaction(async (tx) => {
    await tx.delete(siteNodes).where(and(inArray(siteNodes.nodeUuid, uuids), notInArray(siteNodes.name, names)));
    await tx
      .insert(siteNodes)
      .values([...deploys])
      .onConflictDoUpdate({
        target: siteNodes.name,
        set: {
          nodeUuid: sql`excluded.node_uuid`,
          instanceUuid: sql`excluded.instance_uuid`,
          revisionId: sql`excluded.revision_id`,
          designHash: sql`excluded.design_hash`,
          actionId: sql`excluded.action_id`,
          deployedAt: sql`now()`,
        },
      });
  });
}

/** Of the documents that an action works from; absent once the action is forgotten. */
export async function findRevision(db: Queryable, actionId: string): Promise<number | undefined> {
  const [row] = await db
    .select({ revisionId: siteActions.revisionId })
    .from(siteActions)
    .where(eq(siteActions.id, actionId));
  return row?.revisionId;
}
