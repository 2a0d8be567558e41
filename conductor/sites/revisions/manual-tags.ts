import { and, eq, notInArray } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { siteRevisionTags } from '#conductor/kernel/db/schema/site.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { isSiteTag, siteTags } from '#conductor/model/revision-roles.ts';
import { getRevision, tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** An operator's own tag. @throws AppError `not_found`; `conflict` for one of the site's. */
export async function setTag(
  db: Queryable,
  tag: {
    readonly revisionId: number;
    readonly tag: string;
    readonly data: JsonObject;
    readonly user: string | undefined;
  },
): Promise<void> {
  requireManualTag(tag.tag);
  await getRevision(db, tag.revisionId);
  await tagRevision(db, tag);
}

/** @throws AppError `not_found` for a tag that the revision has not; `conflict` for one of the site's. */
export async function removeTag(db: Queryable, revisionId: number, tag: string): Promise<void> {
  requireManualTag(tag);
  await getRevision(db, revisionId);
  const isIt = and(eq(siteRevisionTags.revisionId, revisionId), eq(siteRevisionTags.tag, tag));
  const gone = await db.delete(siteRevisionTags).where(isIt).returning();
  if (gone.length === 0) throw new AppError('not_found', `Revision ${revisionId} has no tag ${tag}.`);
}

/** All but the site's. @throws AppError `not_found`. */
export async function removeTags(db: Queryable, revisionId: number): Promise<void> {
  await getRevision(db, revisionId);
  const isOwn = notInArray(siteRevisionTags.tag, [...siteTags]);
  await db.delete(siteRevisionTags).where(and(eq(siteRevisionTags.revisionId, revisionId), isOwn));
}

function requireManualTag(tag: string): void {
  if (!isSiteTag(tag)) return;
  const by = tag === 'committed' ? 'a commit sets it' : 'site actions set it';
  throw new AppError('conflict', `The tag ${tag} says what a revision is to the site: ${by}, and nobody by hand.`);
}
