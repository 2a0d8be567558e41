import type { Remark } from '#conductor/model/remarks/remark.ts';
import { newRemark, remarkError } from '#conductor/model/remarks/remark-words.ts';
import type { BufferMode } from '#conductor/model/site/revision-roles.ts';
import type { RevisionContent } from '#conductor/sites/revisions/revision-store.ts';
import type { AppError } from '#shared/errors/app-error.ts';

export interface PlannedUpload {
  readonly mode: BufferMode;
  readonly collection: string;
  /** Hash of the collection's new text; `undefined` = the collection goes. */
  readonly hash: string | undefined;
  readonly committed: RevisionContent;
  /** Content of the newest revision: what the committed one and the buffer make together. */
  readonly newest: RevisionContent;
}

/**
 * The content of the revision that an upload makes; `undefined` when the newest one says the same already. Pure.
 * @throws AppError `conflict` when the mode forbids it.
 */
export function planUpload({ mode, collection, hash, committed, newest }: PlannedUpload): RevisionContent | undefined {
  const isEmpty = isSameContent(newest, committed);
  const isChanged = newest.get(collection) !== committed.get(collection);
  if (isChanged && newest.get(collection) !== hash && mode !== 'replace') {
    const dropped = changedCollections(committed, newest).filter((name) => name !== collection);
    throw bufferConflict(newRemark('buffer-changes-collection', { collection, dropped }));
  }
  if (mode === 'rejectoncontents' && !isEmpty) {
    const changed = changedCollections(committed, newest);
    const dropped = changed.filter((name) => name !== collection);
    throw bufferConflict(newRemark('buffer-not-empty', { changed, dropped }));
  }
  const content = new Map(mode === 'replace' ? committed : newest);
  if (hash === undefined) content.delete(collection);
  else content.set(collection, hash);
  return isSameContent(content, newest) ? undefined : content;
}

/** @throws AppError `conflict` where the newest content is neither committed nor what comes in its place. */
export function requireNothingLost(
  { committed, newest }: Pick<PlannedUpload, 'committed' | 'newest'>,
  coming: RevisionContent,
): void {
  if (isSameContent(newest, committed) || isSameContent(newest, coming)) return;
  throw bufferConflict(newRemark('buffer-lost-by-rollback', { changed: changedCollections(committed, newest) }));
}

function bufferConflict(remark: Remark): AppError {
  return remarkError('conflict', remark, { reason: 'BufferNotEmpty' });
}

export function isSameContent(one: RevisionContent, other: RevisionContent): boolean {
  return one.size === other.size && [...one].every(([collection, hash]) => other.get(collection) === hash);
}

/** The names of the collections that differ, sorted. */
function changedCollections(one: RevisionContent, other: RevisionContent): string[] {
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((collection) => one.get(collection) !== other.get(collection))
    .sort((a, b) => a.localeCompare(b));
}
