import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { SiteRevisionRow } from '#conductor/kernel/db/schema/site.ts';
import { getRevision, insertRevision, lockRevisions, readContent } from '#conductor/sites/revisions/revision-store.ts';

/**
 * A new revision that says what an old one said; it is in the buffer, to be committed as any other.
 * @param id 0 = nothing at all
 * @throws AppError `not_found`.
 */
export function rollBack(db: Queryable, id: number, user: string | undefined): Promise<SiteRevisionRow> {
  return db.transaction(async (tx) => {
    await lockRevisions(tx);
    if (id !== 0) await getRevision(tx, id);
    return insertRevision(
      tx,
      { kind: 'rollback', rolledBackTo: id, createdBy: user ?? null },
      await readContent(tx, id),
    );
  });
}
