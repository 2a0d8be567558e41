import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { SiteRevisionRow } from '#conductor/kernel/db/schema/site.ts';
import type { RollbackMode } from '#conductor/model/site/revision-roles.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { type CheckContext, checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { isSameContent, requireNothingLost } from '#conductor/sites/revisions/plan-upload.ts';
import {
  findRevisionByRole,
  getRevision,
  insertRevision,
  lockRevisions,
  type RevisionContent,
  readContent,
  tagRevision,
} from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Where a site's documents stand. */
interface RevisionHeads {
  readonly committed: { readonly revision: SiteRevisionRow | undefined; readonly content: RevisionContent };
  /** Newest revision above the committed one; absent when there is none. */
  readonly buffer: { readonly revision: SiteRevisionRow; readonly content: RevisionContent } | undefined;
  /** Content of the buffer, or else of what is committed. */
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

export interface CommitOutcome {
  readonly revisionId: number;
  readonly faults: readonly SiteFault[];
  /** `refused`: its documents have errors. `forced`: they have, and it is committed all the same. */
  readonly outcome: 'committed' | 'forced' | 'dry run' | 'refused';
}

/**
 * Commits what the buffer says, once it is checked. A dry run changes nothing, and wins over `force`.
 * @throws AppError `conflict` (to be tried again) for an empty buffer, or one that has changed while it was checked.
 */
export async function commitBuffer(
  context: CheckContext,
  request: { readonly force: boolean; readonly dryRun: boolean; readonly user: string | undefined },
): Promise<CommitOutcome> {
  const { buffer, isBufferEmpty } = await readHeads(context.db);
  if (!buffer || isBufferEmpty) throw nothingToCommit();
  const revisionId = buffer.revision.id;
  // outside of any transaction: thousands of documents take longer than a lock may be held
  const { faults } = await checkRevision(context, revisionId);
  const isFaulty = faults.some(({ level }) => level === 'Error');
  if (request.dryRun) return { revisionId, faults, outcome: 'dry run' };
  if (isFaulty && !request.force) return { revisionId, faults, outcome: 'refused' };
  await context.db.transaction(async (tx) => {
    await lockRevisions(tx);
    const now = await readHeads(tx);
    if (!now.buffer || now.isBufferEmpty) throw nothingToCommit();
    if (now.buffer.revision.id !== revisionId) {
      throw new AppError(
        'conflict',
        `Revision ${revisionId} was checked, and revision ${now.buffer.revision.id} is in the buffer by now; ` +
          'look at it, and commit again.',
        { retryable: true },
      );
    }
    await tagRevision(tx, { revisionId, tag: 'committed', data: {}, user: request.user });
  });
  return { revisionId, faults, outcome: isFaulty ? 'forced' : 'committed' };
}

function nothingToCommit(): AppError {
  return new AppError('conflict', 'The buffer is empty: nothing has been uploaded since the last commit.', {
    retryable: true,
    details: { reason: 'EmptyBuffer' },
  });
}

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
