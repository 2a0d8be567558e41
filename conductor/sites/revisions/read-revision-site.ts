import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type KnownToSite, readSite } from '#conductor/sites/documents/read-site.ts';
import { type DocumentReader, openRevisionDocuments, readContent } from '#conductor/sites/revisions/revision-store.ts';

type ReadSite = ReturnType<typeof readSite>;

/** So many are kept: what is committed, what an action works from, and what is in the buffer. */
const most = 3;

/** Of each database; the key says all that the result depends on, so that nothing here can be out of date. */
const kept = new WeakMap<Queryable, Map<string, Promise<ReadSite>>>();

/**
 * A revision's documents as a site. Thousands of documents take parts of a second of everybody's time: what was read with
 * the same texts and the same knowledge is not read again, and who asks at the same time waits for the same reading.
 */
export async function readRevisionSite(reader: DocumentReader, id: number, known: KnownToSite): Promise<ReadSite> {
  const { db } = reader;
  const key = JSON.stringify([[...(await readContent(db, id))], known]);
  const sites = kept.get(db) ?? new Map<string, Promise<ReadSite>>();
  kept.set(db, sites);
  const reading = sites.get(key) ?? openRevisionDocuments(reader, id).then((documents) => readSite(documents, known));
  // the newest is the last, the oldest goes
  sites.delete(key);
  sites.set(key, reading);
  for (const old of [...sites.keys()].slice(0, -most)) sites.delete(old);
  try {
    return await reading;
  } catch (error) {
    sites.delete(key);
    throw error;
  }
}
