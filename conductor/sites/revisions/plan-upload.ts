import type { BufferMode } from '#conductor/model/buffer-modes.ts';
import type { RevisionContent } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/name-some.ts';

export interface PlannedUpload {
  readonly mode: BufferMode;
  readonly collection: string;
  /** Of the collection's new text; `undefined` = the collection goes. */
  readonly hash: string | undefined;
  readonly committed: RevisionContent;
  /** Of the newest revision: what the committed one and the buffer make together. */
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
    throw bufferConflict(`The buffer changes collection ${collection} already.`, 'puts this in its place', {
      dropped: changedCollections(committed, newest).filter((name) => name !== collection),
    });
  }
  if (mode === 'rejectoncontents' && !isEmpty) {
    const changed = changedCollections(committed, newest);
    const told = `The buffer is not empty: it changes ${listed(changed)}.`;
    throw bufferConflict(told, 'begins anew from what is committed', {
      dropped: changed.filter((name) => name !== collection),
      instead: 'buffermode=append adds to it; ',
    });
  }
  const content = new Map(mode === 'replace' ? committed : newest);
  if (hash === undefined) content.delete(collection);
  else content.set(collection, hash);
  return isSameContent(content, newest) ? undefined : content;
}

function bufferConflict(
  told: string,
  replaces: string,
  { dropped, instead = '' }: { readonly dropped: readonly string[]; readonly instead?: string },
): AppError {
  const drops = dropped.length === 0 ? '' : `, and drops what else the buffer changes: ${listed(dropped)}`;
  const message = `${told} Commit it first; or ${instead}buffermode=replace ${replaces}${drops}.`;
  return new AppError('conflict', message, { details: { reason: 'BufferNotEmpty' } });
}

export function isSameContent(one: RevisionContent, other: RevisionContent): boolean {
  return one.size === other.size && [...one].every(([collection, hash]) => other.get(collection) === hash);
}

/** Collections whose text is not the same in both, by name. */
function changedCollections(one: RevisionContent, other: RevisionContent): string[] {
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((collection) => one.get(collection) !== other.get(collection))
    .sort((a, b) => a.localeCompare(b));
}

function listed(names: readonly string[]): string {
  return nameSome(names, 5);
}
