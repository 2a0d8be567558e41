import { and, eq, ne, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';

export interface EndedDeploy {
  readonly name: string;
  readonly nodeUuid: string;
  readonly instanceUuid: string | null;
  readonly revisionId: number;
  readonly designHash: string;
  readonly actionId: string;
  /** Nobody has to wait for anything more. */
  readonly isInService: boolean;
}

/** Remembers what the site has made of a node. Safe to repeat; a node that has got another name has one row. */
export async function recordDeploy(db: Queryable, deploy: EndedDeploy): Promise<void> {
  const { isInService, ...rest } = deploy;
  const { nodeUuid, name } = rest;
  const row = { ...rest, inServiceAt: isInService ? sql`now()` : null };
  await db.transaction(async (tx) => {
    await tx.delete(siteNodes).where(and(eq(siteNodes.nodeUuid, nodeUuid), ne(siteNodes.name, name)));
    await tx
      .insert(siteNodes)
      .values(row)
      .onConflictDoUpdate({
        target: siteNodes.name,
        set: { ...row, deployedAt: sql`now()` },
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
