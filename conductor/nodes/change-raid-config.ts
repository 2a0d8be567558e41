import type { Caller } from '#conductor/kernel/caller.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { changeNote } from '#conductor/nodes/change-note.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { requireInterface } from '#conductor/nodes/node-interfaces.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { requireNoTransition } from '#conductor/nodes/plan-node-patch.ts';
import { parseTargetRaidConfig } from '#shared/raid/target-raid-config.ts';

/**
 * `PUT /v1/nodes/{node}/states/raid`: what the next `raid.create_configuration` builds; `{}` = nothing. The disks are
 * not touched.
 * @throws AppError `invalid_argument` naming every wrong field, or for a node whose `raid_interface` is `no-raid`, `conflict` while a flow is under way, `node_locked`.
 */
export async function changeTargetRaidConfig(
  context: Pick<NodesContext, 'db' | 'clock' | 'config'>,
  nodeUuid: string,
  target: JsonObject,
  caller: Caller,
): Promise<void> {
  const targetRaidConfig = Object.keys(target).length === 0 ? {} : parseTargetRaidConfig(target);
  await changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      requireNoTransition(node);
      requireInterface(node, 'raid');
      await updateNode(tx, nodeUuid, { targetRaidConfig });
    },
    changeNote(context, caller, 'target_raid_config set'),
  );
}
