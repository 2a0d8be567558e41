import { describeJournalEntry, type Journal } from '#conductor/cluster/journal.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/change-note.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { noteEtcdMember } from '#conductor/sites/nodes/membership-store.ts';

/** Of one entry: a drain may evict hundreds of pods. */
const mostInEntry = 50;

/**
 * Writes what an operation by hand changes in a node's clusters into the log, and into the history of the node, if Baton
 * has one of that name; which etcd clusters it has left is remembered as after a site action's.
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
    // a redeploy of the node has to bring them back, whoever took them out
    for (const { change, result } of entries) {
      if (change.kind !== 'etcd member' || change.of === undefined || result === 'refused') continue;
      const { of } = change;
      await db.transaction((tx) => noteEtcdMember(tx, node.uuid, of));
    }
    for (let start = 0; start < lines.length; start += mostInEntry) {
      const event = `${verb} by hand: ${lines.slice(start, start + mostInEntry).join('; ')}`;
      await writeChangeNote(db, node.uuid, changeNote({ config }, caller, event));
    }
  };
}
