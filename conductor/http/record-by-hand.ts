import { describeJournalEntry, type Journal } from '#conductor/cluster/journal.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/change-note.ts';
import { findNode } from '#conductor/nodes/node-store.ts';

/** Of one entry: a drain may evict hundreds of pods. */
const mostInEntry = 50;

/**
 * Writes what an operation by hand changes in a node's clusters into the log, and into the history of the node, if Baton
 * has one of that name.
 * @param verb of the operation: `drain`
 */
export function recordByHand(
  { db, config, log }: Pick<HttpContext, 'db' | 'config' | 'log'>,
  caller: Pick<Caller, 'user' | 'project' | 'via'>,
  { node: name, verb }: { readonly node: string; readonly verb: string },
): Journal {
  return async (entries) => {
    const lines = entries.map(describeJournalEntry);
    for (const line of lines) log.info({ node: name, user: caller.user }, `${verb} by hand: ${line}`);
    const node = await findNode(db, name);
    if (!node) return;
    for (let start = 0; start < lines.length; start += mostInEntry) {
      const event = `${verb} by hand: ${lines.slice(start, start + mostInEntry).join('; ')}`;
      await writeChangeNote(db, node.uuid, changeNote({ config }, caller, event));
    }
  };
}
