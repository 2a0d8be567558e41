import { readRevisionSite } from '#conductor/sites/revisions/read-revision-site.ts';
import type { DocumentReader } from '#conductor/sites/revisions/revision-store.ts';
import type { Site } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The site of a revision that an action has found good. What it was measured by then may have gone since (a credential, a
 * network of this conductor): that is the fault of the nodes that need it, and keeps nobody from going on with the
 * others, or from stopping.
 */
export async function readRevision(reader: DocumentReader, id: number): Promise<Site> {
  const { site, faults } = await readRevisionSite(reader, id, {});
  if (site) return site;
  const errors = faults.filter(({ level }) => level === 'Error').map(({ message }) => message);
  throw new AppError('invalid_argument', `the documents of revision ${id} have faults: ${errors.join('; ')}`);
}
