import { readRoles } from '#conductor/sites/revisions/read-roles.ts';
import { type DocumentReader, openRevisionDocuments } from '#conductor/sites/revisions/revision-store.ts';
import type { CollectionUpload } from '#conductor/sites/revisions/upload-collection.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site-document.ts';

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
