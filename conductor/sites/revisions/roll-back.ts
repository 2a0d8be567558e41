import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { SiteRevisionRow } from '#conductor/kernel/db/schema/site.ts';
import type { RollbackMode } from '#conductor/model/buffer-modes.ts';
import { requireNothingLost } from '#conductor/sites/revisions/plan-upload.ts';
import { readHeads } from '#conductor/sites/revisions/read-heads.ts';
import { getRevision, insertRevision, lockRevisions, readContent } from '#conductor/sites/revisions/revision-store.ts';

/**
 * A new revision that says what an old one said; it is in the buffer, to be committed as any other.
 * @param id 0 = nothing at all
 * @param mode what becomes of uploads that are not committed
 * @throws AppError `not_found`, `conflict` when the mode forbids it.
 */
export function rollBack(
  db: Queryable,
  id: number,
  user: string | undefined,
  mode: RollbackMode = 'replace',
): Promise<SiteRevisionRow> {
  return db.transaction(async (tx) => {
    await lockRevisions(tx);
    if (id !== 0) await getRevision(tx, id);
    const content = await readContent(tx, id);
    if (mode === 'rejectoncontents') {
      const { committed, newest } = await readHeads(tx);
      requireNothingLost({ committed: committed.content, newest }, content);
    }
    return insertRevision(tx, { kind: 'rollback', rolledBackTo: id, createdBy: user ?? null }, content);
  });
}
