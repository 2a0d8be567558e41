import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { changeNote } from '#conductor/nodes/change-note.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { notifyCapacity } from '#conductor/nodes/notify-capacity.ts';
import { replaceTraits } from '#conductor/nodes/traits/trait-store.ts';

type TraitContext = Pick<NodesContext, 'db' | 'clock' | 'config'>;

/**
 * A change of a node's traits, with its line of history; allocations that wait for such a node are told.
 * @throws AppError `node_locked`, whatever `write` throws.
 */
export async function changeTraits(
  context: TraitContext,
  nodeUuid: string,
  { event, caller }: { readonly event: string; readonly caller: Caller },
  write: (tx: Transaction, nodeUuid: string) => Promise<void>,
): Promise<void> {
  await changeUnlocked(
    context,
    nodeUuid,
    async (tx) => {
      await write(tx, nodeUuid);
      await notifyCapacity(tx, nodeUuid);
    },
    changeNote(context, caller, event),
  );
}

/** `PUT /v1/nodes/{node}/traits`: these and no others. @throws AppError `node_locked`. */
export function setTraits(
  context: TraitContext,
  nodeUuid: string,
  traits: readonly string[],
  caller: Caller,
): Promise<void> {
  const event = `traits set: ${traits.join(', ') || 'none'}`;
  return changeTraits(context, nodeUuid, { event, caller }, (tx) => replaceTraits(tx, nodeUuid, traits));
}
