import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { SiteRevisionRow } from '#conductor/kernel/db/schema/site.ts';
import { isSameContent } from '#conductor/sites/revisions/plan-upload.ts';
import { findRevisionByRole, type RevisionContent, readContent } from '#conductor/sites/revisions/revision-store.ts';

/** Where a site's documents stand. */
export interface RevisionHeads {
  readonly committed: { readonly revision: SiteRevisionRow | undefined; readonly content: RevisionContent };
  /** Newest revision above the committed one; absent when there is none. */
  readonly buffer: { readonly revision: SiteRevisionRow; readonly content: RevisionContent } | undefined;
  /** Of the buffer, or else of what is committed. */
  readonly newest: RevisionContent;
  /** Nothing is to be committed: there is no buffer, or it says what is committed. */
  readonly isBufferEmpty: boolean;
}

/** To decide on what they say, the caller holds the lock of revisions. */
export async function readHeads(db: Queryable): Promise<RevisionHeads> {
  const committed = await headOf(db, await findRevisionByRole(db, 'committed'));
  const revision = await findRevisionByRole(db, 'buffer');
  const buffer = revision && { revision, content: await readContent(db, revision.id) };
  const newest = buffer?.content ?? committed.content;
  return { committed, buffer, newest, isBufferEmpty: isSameContent(newest, committed.content) };
}

async function headOf(db: Queryable, revision: SiteRevisionRow | undefined): Promise<RevisionHeads['committed']> {
  return { revision, content: revision ? await readContent(db, revision.id) : new Map() };
}
