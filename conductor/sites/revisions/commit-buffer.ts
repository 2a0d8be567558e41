import type { SiteFault } from '#conductor/model/site-fault.ts';
import { type CheckContext, checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { readHeads } from '#conductor/sites/revisions/read-heads.ts';
import { lockRevisions, tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
