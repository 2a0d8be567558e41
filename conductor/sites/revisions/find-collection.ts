import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { SiteVersion } from '#conductor/model/revision-roles.ts';
import { resolveVersion } from '#conductor/sites/revisions/compare-versions.ts';
import type { StoredContent } from '#conductor/sites/revisions/encrypted-documents.ts';
import { readRoles } from '#conductor/sites/revisions/read-roles.ts';
import { readCollectionContent, readContent } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * A collection as it is stored.
 * @param version `buffer` = only what the buffer changes (airship.md §5); absent = the newest there is
 * @throws AppError `not_found`.
 */
export async function findCollection(
  db: Queryable,
  collection: string,
  version: SiteVersion | undefined,
): Promise<StoredContent> {
  const roles = await readRoles(db);
  const id = await resolveVersion(db, { roles, version: version ?? 'buffer', isNamed: version !== undefined });
  const content = await readCollectionContent(db, id, collection);
  const where = version === undefined ? '' : ` in version ${version}`;
  if (!content) throw new AppError('not_found', `Collection ${collection} could not be found${where}.`);
  if (version !== 'buffer') return content;
  const committed = await readContent(db, roles.get('committed') ?? 0);
  if ((await readContent(db, id)).get(collection) !== committed.get(collection)) return content;
  throw new AppError('not_found', `Collection ${collection} is not in the buffer: it is as it was committed.`);
}
