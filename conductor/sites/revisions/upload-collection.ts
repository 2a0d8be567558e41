import { eq, inArray, sql } from 'drizzle-orm';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { type SiteRevisionRow, siteContents } from '#conductor/kernel/db/schema/site.ts';
import type { BufferMode } from '#conductor/model/site/revision-roles.ts';
import { readHeads } from '#conductor/sites/revisions/commit-buffer.ts';
import { type Content, type StoredContent, sealContent } from '#conductor/sites/revisions/encrypted-documents.ts';
import { planUpload } from '#conductor/sites/revisions/plan-upload.ts';
import { pruneRevisions } from '#conductor/sites/revisions/prune-revisions.ts';
import {
  type DocumentReader,
  insertRevision,
  lockRevisions,
  openRevisionDocuments,
  readRoles,
} from '#conductor/sites/revisions/revision-store.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface CollectionUpload {
  readonly collection: string;
  readonly mode: BufferMode;
  /** The text and what it says; absent = the collection goes. */
  readonly content: Content | undefined;
  readonly user: string | undefined;
}

interface UploadOutcome {
  /** The one that says it; `undefined` when there has never been any, and there is nothing to take away. */
  readonly revision: SiteRevisionRow | undefined;
  /** False when it said so before. */
  readonly isNew: boolean;
}

/**
 * Puts a collection into the buffer: a new revision. Uploads at once follow one another; none is lost.
 * @throws AppError `conflict` when the mode forbids it, or another collection has one of the documents.
 */
export function uploadCollection(
  { db, secrets }: DocumentReader,
  { collection, mode, content: given, user }: CollectionUpload,
): Promise<UploadOutcome> {
  const content = given && sealContent(secrets, given);
  const hash = content?.hash;
  return db.transaction(async (tx) => {
    // before the lock: others need not wait while megabytes are sent
    if (content) await storeText(tx, content);
    await lockRevisions(tx);
    // another one's, found there before, may have been forgotten until now
    if (content && !(await hasText(tx, content.hash))) await storeText(tx, content);
    const heads = await readHeads(tx);
    const { newest } = heads;
    const planned = planUpload({ mode, collection, hash, committed: heads.committed.content, newest });
    if (!planned) return { revision: heads.buffer?.revision ?? heads.committed.revision, isNew: false };
    const others = [...planned].filter(([name]) => name !== collection);
    if (hash !== undefined && others.length > 0) await requireOwnDocuments(tx, hash, new Map(others));
    const revision = await insertRevision(tx, { kind: 'upload', rolledBackTo: null, createdBy: user ?? null }, planned);
    await pruneRevisions(tx);
    return { revision, isNew: true };
  });
}

async function hasText(tx: Transaction, hash: string): Promise<boolean> {
  const rows = await tx.select({ hash: siteContents.hash }).from(siteContents).where(eq(siteContents.hash, hash));
  return rows.length > 0;
}

async function storeText(tx: Transaction, { hash, text, documents }: StoredContent): Promise<void> {
  await tx
    .insert(siteContents)
    .values({ hash, text, documents: [...documents] })
    .onConflictDoNothing();
}

/** @throws AppError `conflict` naming a document that two collections would have. */
async function requireOwnDocuments(tx: Transaction, hash: string, others: ReadonlyMap<string, string>): Promise<void> {
  const named = sql`
    select ${siteContents.hash} as hash, document ->> 'schema' as schema, document -> 'metadata' ->> 'name' as name,
      coalesce(document -> 'metadata' -> 'layeringDefinition' ->> 'layer', '') as layer
    from ${siteContents}, jsonb_array_elements(${siteContents.documents}) document`;
  const [shared] = rowsOf(
    await tx.execute(sql`
      select own.schema, own.name, other.hash
      from (${named} where ${siteContents.hash} = ${hash}) own
      join (${named} where ${inArray(siteContents.hash, [...others.values()])}) other using (schema, name, layer)
      limit 1`),
  ) as { schema: string; name: string; hash: string }[];
  if (!shared) return;
  const [owner] = [...others].find(([, each]) => each === shared.hash) ?? [];
  throw new AppError(
    'conflict',
    `Document ${shared.schema} ${shared.name} is in collection ${owner} already; take it out there first`,
  );
}

/** All documents as the upload would leave them; its mode chooses what they begin with, and is not held against it. */
export async function documentsWithUpload(
  reader: DocumentReader,
  { collection, mode, content }: CollectionUpload,
): Promise<SiteDocument[]> {
  const roles = await readRoles(reader.db);
  const committed = roles.get('committed') ?? 0;
  const base = mode === 'replace' ? committed : (roles.get('buffer') ?? committed);
  const others = (await openRevisionDocuments(reader, base)).filter((document) => document.collection !== collection);
  return [...others, ...(content?.documents ?? []).map((document) => siteDocument(collection, document))];
}
