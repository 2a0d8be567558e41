import { and, desc, inArray, isNotNull, notInArray, sql } from 'drizzle-orm';
import { isOfSite } from '#conductor/flows/actions/action-store.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { siteRevisionTags } from '#conductor/kernel/db/schema/site.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type { SitesContext } from '#conductor/sites/context.ts';

/** Ended actions that are kept, with their nodes, groups and notes. */
const keptActions = 50;

/**
 * Deletes the ended actions beyond the newest, but for those that the newest tag of each kind names: which the last site
 * action was, and the last that succeeded, is asked for long afterwards. Tags keep what they say of an action.
 */
export async function pruneActions({ db, log }: Pick<SitesContext, 'db' | 'log'>): Promise<void> {
  const newest = db
    .select({ id: siteActions.id })
    .from(siteActions)
    .innerJoin(flows, isOfSite)
    .where(isNotNull(flows.endedAt))
    .orderBy(desc(siteActions.id))
    .limit(keptActions);
  const named = await db
    .selectDistinctOn([siteRevisionTags.tag], { id: sql<string | null>`${siteRevisionTags.data} ->> 'action'` })
    .from(siteRevisionTags)
    .where(inArray(siteRevisionTags.tag, ['site-action-success', 'site-action-failure']))
    .orderBy(siteRevisionTags.tag, desc(siteRevisionTags.createdAt), desc(siteRevisionTags.revisionId));
  const deleted = await db
    .delete(siteActions)
    .where(
      and(
        inArray(siteActions.id, db.select({ id: flows.siteActionId }).from(flows).where(isNotNull(flows.endedAt))),
        notInArray(siteActions.id, newest),
        ...named.flatMap(({ id }) => (id === null ? [] : [sql`${siteActions.id} <> ${id}`])),
      ),
    )
    .returning({ id: siteActions.id });
  if (deleted.length > 0) log.info({ actions: deleted.length }, 'old site actions deleted');
}
