import { randomUUID } from 'node:crypto';
import { keyOf } from '#conductor/cluster/cluster-changes.ts';
import { describeJournalEntry, type Journal, type JournalEntry } from '#conductor/cluster/journal.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { RequestIds } from '#conductor/model/request-ids.ts';
import { changeNote, rewriteHistory, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { noteEtcdMember } from '#conductor/sites/nodes/membership-store.ts';

/** In one entry: a drain may evict hundreds of pods. */
const mostInEntry = 50;

/** An entry of the history that more comes to: pods, and what is known of each. */
interface OpenEntry {
  readonly uuid: string;
  readonly lines: Map<string, string>;
}

/**
 * Writes what an operation by hand changes in a node's clusters into the log, and into the history of the node, if Baton
 * has one of that name; which etcd clusters it has left is remembered as after a site action's. Of pods, of which there may
 * be more than the history keeps entries, an entry has many, each once: with what is known of it.
 * @param verb of the operation: `drain`
 */
export function recordByHand(
  { db, config, log }: Pick<HttpContext, 'db' | 'config' | 'log'>,
  caller: Pick<Caller, 'user' | 'project' | 'via' | keyof RequestIds>,
  { node: name, verb }: { readonly node: string; readonly verb: string },
): Journal {
  const open: OpenEntry[] = [];
  const noteOf = (lines: Iterable<string>) =>
    changeNote({ config }, caller, `${verb} by hand: ${[...lines].join('; ')}`);
  const writePods = async (nodeUuid: string, pods: readonly JournalEntry[]): Promise<void> => {
    const changed = new Set<OpenEntry>();
    for (const entry of pods) {
      const key = keyOf(entry.change);
      let place = open.find(({ lines }) => lines.has(key)) ?? open.at(-1);
      if (!place || (place.lines.size >= mostInEntry && !place.lines.has(key))) {
        place = { uuid: randomUUID(), lines: new Map() };
        open.push(place);
      }
      place.lines.set(key, describeJournalEntry(entry));
      changed.add(place);
    }
    for (const { uuid, lines } of changed) {
      const note = noteOf(lines.values());
      if (!(await rewriteHistory(db, uuid, note.event))) await writeChangeNote(db, nodeUuid, note, uuid);
    }
  };
  return async (entries) => {
    for (const entry of entries) {
      log.info({ node: name, user: caller.user }, `${verb} by hand: ${describeJournalEntry(entry)}`);
    }
    const node = await findNode(db, name);
    if (!node) return;
    // a redeploy of the node has to bring them back, no matter who took them out
    for (const { change, result } of entries) {
      if (change.kind !== 'etcd member' || change.of === undefined || result === 'refused') continue;
      const { of } = change;
      await db.transaction((tx) => noteEtcdMember(tx, node.uuid, of));
    }
    const [pods, others] = [entries.filter(isOfPod), entries.filter((entry) => !isOfPod(entry))];
    if (others.length > 0) await writeChangeNote(db, node.uuid, noteOf(others.map(describeJournalEntry)));
    await writePods(node.uuid, pods);
  };
}

function isOfPod({ change }: JournalEntry): boolean {
  return change.kind === 'pod';
}
