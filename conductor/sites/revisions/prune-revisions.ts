import { and, eq, isNull, sql } from 'drizzle-orm';
import { isOfSite } from '#conductor/flows/site-actions/action-store.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import {
  siteContents,
  siteRevisionCollections,
  siteRevisions,
  siteRevisionTags,
} from '#conductor/kernel/db/schema/site.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { getRevision, listTags, lockRevisions, readRoles } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** So many of the newest that nobody has tagged or committed are kept. */
const untaggedKept = 100;

/**
 * Forgets old revisions that have no tag and that no action works from, and texts that no revision has any more. The caller
 * holds the lock of revisions.
 */
export async function pruneRevisions(tx: Transaction, keep: number = untaggedKept): Promise<void> {
  await tx.execute(sql`
    delete from ${siteRevisions} where ${siteRevisions.id} in (
      select id from ${siteRevisions} untagged
      where not exists (select from ${siteRevisionTags} where ${siteRevisionTags.revisionId} = untagged.id)
        and not exists (
          select from ${siteActions} join ${flows} on ${isOfSite} where ${siteActions.revisionId} = untagged.id and ${flows.endedAt} is null
        )
      order by id desc offset ${keep}
    )`);
  await forgetTexts(tx);
}

async function forgetTexts(tx: Transaction): Promise<void> {
  await tx.execute(sql`
    delete from ${siteContents} where not exists (
      select from ${siteRevisionCollections} where ${siteRevisionCollections.contentHash} = ${siteContents.hash}
    )`);
}

/**
 * Deletes a revision, and of its texts what no other has: what must not have been uploaded is gone then.
 * @throws AppError `not_found`, `conflict` for one that is needed, and without `force` for one that has a tag
 */
export function deleteRevision(db: Queryable, id: number, { force }: { readonly force: boolean }): Promise<void> {
  return db.transaction(async (tx) => {
    await lockRevisions(tx);
    await getRevision(tx, id);
    const roles = await readRoles(tx);
    if (id === roles.get('committed'))
      throw conflict(`Revision ${id} is what is committed now; commit another one first.`);
    const [later] = await tx
      .select({ id: siteRevisions.id })
      .from(siteRevisions)
      .where(sql`${siteRevisions.id} > ${id}`)
      .limit(1);
    // its number would be the next one's
    if (!later) throw conflict(`Revision ${id} is the newest; upload another one, or roll back, first.`);
    const [action] = await tx
      .select({ id: siteActions.id })
      .from(siteActions)
      .innerJoin(flows, isOfSite)
      .where(and(eq(siteActions.revisionId, id), isNull(flows.endedAt)))
      .limit(1);
    if (action) throw conflict(`Site action ${action.id} works from revision ${id}.`);
    const tags = (await listTags(tx, id)).map(({ tag }) => tag);
    if (tags.length > 0 && !force) {
      throw conflict(`Revision ${id} has the tags ${tags.join(', ')}; it is deleted with force=true only.`);
    }
    await tx.delete(siteRevisions).where(eq(siteRevisions.id, id));
    await forgetTexts(tx);
  });
}

const conflict = (message: string): AppError => new AppError('conflict', message);
