import { and, asc, desc, eq, inArray, max, type SQL, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import {
  type SiteRevisionRow,
  type SiteRevisionTagRow,
  siteContents,
  siteRevisionCollections,
  siteRevisions,
  siteRevisionTags,
} from '#conductor/kernel/db/schema/site.ts';
import { lockUntilEnd } from '#conductor/kernel/db/session/lock-key.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { type RevisionRole, revisionRoles } from '#conductor/model/site/revision-roles.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { openDocument, type StoredContent, storedDocument } from '#conductor/sites/revisions/encrypted-documents.ts';
import type { SiteDocument } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface TaggedRevision {
  readonly id: number;
  readonly tags: readonly string[];
}

/** Content of a revision: the hash of each collection's text, by the collection's name. */
export type RevisionContent = ReadonlyMap<string, string>;

const newestTagged = (...tags: readonly string[]): SQL => sql`(
  select max(${siteRevisionTags.revisionId}) from ${siteRevisionTags} where ${inArray(siteRevisionTags.tag, [...tags])}
)`;

/** airship.md §5, "Revision roles". */
const isOfRole: Readonly<Record<RevisionRole, SQL>> = {
  committed: sql`${siteRevisions.id} = ${newestTagged('committed')}`,
  buffer: sql`${siteRevisions.id} > coalesce(${newestTagged('committed')}, 0)`,
  'last-site-action': sql`${siteRevisions.id} = ${newestTagged('site-action-success', 'site-action-failure')}`,
  'successful-site-action': sql`${siteRevisions.id} = ${newestTagged('site-action-success')}`,
};

/** The revision that has this role now; `undefined` when none has. */
export async function findRevisionByRole(db: Queryable, role: RevisionRole): Promise<SiteRevisionRow | undefined> {
  const [row] = await db.select().from(siteRevisions).where(isOfRole[role]).orderBy(desc(siteRevisions.id)).limit(1);
  return row;
}

/** @throws AppError `not_found`. */
export async function getRevision(db: Queryable, id: number): Promise<SiteRevisionRow> {
  const [row] = await db.select().from(siteRevisions).where(eq(siteRevisions.id, id));
  if (!row) throw new AppError('not_found', `Revision ${id} could not be found.`);
  return row;
}

/** All there are, or those with all of these tags; the oldest first unless `order` says otherwise. */
export async function listRevisions(
  db: Queryable,
  tags: readonly string[] = [],
  { order = 'asc', limit }: { readonly order?: 'asc' | 'desc'; readonly limit?: number | undefined } = {},
): Promise<SiteRevisionRow[]> {
  const hasTag = (tag: string): SQL => sql`exists (
    select from ${siteRevisionTags}
    where ${siteRevisionTags.revisionId} = ${siteRevisions.id} and ${siteRevisionTags.tag} = ${tag}
  )`;
  const rows = db
    .select()
    .from(siteRevisions)
    .where(and(...tags.map(hasTag)))
    .orderBy(order === 'asc' ? asc(siteRevisions.id) : desc(siteRevisions.id));
  return limit === undefined ? await rows : await rows.limit(limit);
}

/** Revisions with any tag, for `intermediateCommits`; the oldest first. */
export async function listTaggedRevisions(db: Queryable): Promise<TaggedRevision[]> {
  const byId = Map.groupBy(await listTags(db), ({ revisionId }) => revisionId);
  return [...byId].map(([id, tags]) => ({ id, tags: tags.map(({ tag }) => tag) }));
}

/** Lists the tags of one revision, or of all; ordered by revision and tag. */
export function listTags(db: Queryable, revisionId?: number): Promise<SiteRevisionTagRow[]> {
  return db
    .select()
    .from(siteRevisionTags)
    .where(revisionId === undefined ? undefined : eq(siteRevisionTags.revisionId, revisionId))
    .orderBy(asc(siteRevisionTags.revisionId), asc(siteRevisionTags.tag));
}

/** By collection, in their order by name; empty for revision 0, which stands for "nothing". */
export async function readContent(db: Queryable, revisionId: number): Promise<RevisionContent> {
  const rows = await db
    .select()
    .from(siteRevisionCollections)
    .where(eq(siteRevisionCollections.revisionId, revisionId))
    .orderBy(asc(siteRevisionCollections.collection));
  return new Map(rows.map(({ collection, contentHash }) => [collection, contentHash]));
}

export async function listCollections(db: Queryable): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await db.select().from(siteRevisionCollections).orderBy(asc(siteRevisionCollections.collection));
  const byId = Map.groupBy(rows, ({ revisionId }) => revisionId);
  return new Map([...byId].map(([id, of]) => [id, of.map(({ collection }) => collection)]));
}

/** All that is needed to read documents with their secrets. */
export type DocumentReader = Pick<SitesContext, 'db' | 'secrets'>;

/**
 * Every document of a revision, with what encrypted ones say.
 * @throws AppError `invalid_argument` naming the key that is missing
 */
export async function openRevisionDocuments({ db, secrets }: DocumentReader, id: number): Promise<SiteDocument[]> {
  return (await listRevisionDocuments(db, id)).map((document) => openDocument(secrets, document));
}

/**
 * Every document of a revision as it is stored: collections in the order of their names, documents as they stand in the
 * text; of sealed ones the digest. All may see what `shownDocument` makes of it.
 * @param only of this collection
 */
export async function listRevisionDocuments(db: Queryable, id: number, only?: string): Promise<SiteDocument[]> {
  const rows = await db
    .select({ collection: siteRevisionCollections.collection, documents: siteContents.documents })
    .from(siteRevisionCollections)
    .innerJoin(siteContents, eq(siteContents.hash, siteRevisionCollections.contentHash))
    .where(
      and(
        eq(siteRevisionCollections.revisionId, id),
        only === undefined ? undefined : eq(siteRevisionCollections.collection, only),
      ),
    )
    .orderBy(asc(siteRevisionCollections.collection));
  return rows.flatMap(({ collection, documents }) => documents.map((document) => storedDocument(collection, document)));
}

/** The text of a collection as it is stored; `undefined` when the revision has none. */
export async function readCollectionContent(
  db: Queryable,
  id: number,
  collection: string,
): Promise<StoredContent | undefined> {
  const { hash, text, documents } = siteContents;
  const [row] = await db
    .select({ hash, text, documents })
    .from(siteRevisionCollections)
    .innerJoin(siteContents, eq(siteContents.hash, siteRevisionCollections.contentHash))
    .where(and(eq(siteRevisionCollections.revisionId, id), eq(siteRevisionCollections.collection, collection)));
  return row;
}

/**
 * Anyone who makes or tags revisions holds it until the end of the transaction: two uploads at once build on each other,
 * and what is committed is what was looked at.
 */
export async function lockRevisions(tx: Transaction): Promise<void> {
  await lockUntilEnd(tx, 'site revisions');
}

/** A new revision. The caller holds the lock of revisions; contents are stored before. */
export async function insertRevision(
  tx: Transaction,
  revision: Pick<SiteRevisionRow, 'kind' | 'rolledBackTo' | 'createdBy'>,
  content: RevisionContent,
): Promise<SiteRevisionRow> {
  // no sequence: the database in process takes 32 numbers at a time, and a crash loses them
  const [last] = await tx.select({ id: max(siteRevisions.id) }).from(siteRevisions);
  const id = (last?.id ?? 0) + 1;
  const [row] = await tx
    .insert(siteRevisions)
    .overridingSystemValue()
    .values({ ...revision, id })
    .returning();
  if (!row) throw new AppError('internal', 'a revision was inserted and not answered');
  const collections = [...content].map(([collection, contentHash]) => ({
    revisionId: row.id,
    collection,
    contentHash,
  }));
  if (collections.length > 0) await tx.insert(siteRevisionCollections).values(collections);
  return row;
}

/** Tags a revision, or gives its tag other data. */
export async function tagRevision(
  tx: Queryable,
  {
    revisionId,
    tag,
    data,
    user,
  }: {
    readonly revisionId: number;
    readonly tag: string;
    readonly data: JsonObject;
    readonly user: string | undefined;
  },
): Promise<void> {
  const createdBy = user ?? null;
  await tx
    .insert(siteRevisionTags)
    .values({ revisionId, tag, data, createdBy })
    .onConflictDoUpdate({
      target: [siteRevisionTags.revisionId, siteRevisionTags.tag],
      set: { data, createdBy, createdAt: sql`now()` },
    });
}

export async function readRoles(db: Queryable): Promise<ReadonlyMap<RevisionRole, number>> {
  const found = await allTogether(revisionRoles.map((role) => findRevisionByRole(db, role)));
  return new Map(
    revisionRoles.flatMap((role, index) => {
      const revision = found[index];
      return revision ? [[role, revision.id] as const] : [];
    }),
  );
}
