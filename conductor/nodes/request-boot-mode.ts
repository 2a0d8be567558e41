import type { Caller } from '#conductor/kernel/caller.ts';
import { requireLiveConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootMode } from '#conductor/model/boot.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext, Nudging } from '#conductor/nodes/context.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { requireNoTransition } from '#conductor/nodes/plan-node-patch.ts';
import { AppError } from '#shared/errors/app-error.ts';

type BootTarget = { readonly bootMode: BootMode } | { readonly secureBoot: boolean };

/**
 * `PUT states/boot_mode` and `states/secure_boot`: stores the target, which a conductor then sets at the BMC; a crash in
 * between loses nothing.
 * @throws AppError `not_supported` where the driver can't, `conflict` while a flow is under way, `node_locked`.
 */
export async function requestBootMode(
  context: Pick<NodesContext, 'db' | 'clock' | 'drivers' | 'config' | 'conductors'> & Nudging,
  nodeUuid: string,
  target: BootTarget,
  caller: Pick<Caller, 'user' | 'project'>,
): Promise<void> {
  const isMode = 'bootMode' in target;
  const asked = isMode ? `boot mode '${target.bootMode}'` : `secure boot ${target.secureBoot ? 'on' : 'off'}`;
  await context.conductors.live();
  await changeUnlocked(context, nodeUuid, async (tx, node) => {
    requireLiveConductor(context, node);
    requireNoTransition(node);
    requireFirmwareBoot(context, node, isMode ? 'set_boot_mode' : 'set_secure_boot_state');
    await updateNode(tx, node.uuid, {
      ...(isMode ? { targetBootMode: target.bootMode } : { targetSecureBoot: target.secureBoot }),
      lastError: null,
    });
    await addHistory(tx, {
      nodeUuid: node.uuid,
      severity: 'INFO',
      eventType: 'boot mode',
      event: `${asked} requested`,
      conductor: context.config.conductorName,
      user: caller.user,
      project: caller.project,
    });
  });
  context.nudge(nodeUuid);
}

function requireFirmwareBoot(context: Pick<NodesContext, 'drivers'>, node: NodeRow, method: string): void {
  if (context.drivers.connect(node).firmwareBoot) return;
  throw new AppError(
    'not_supported',
    `Driver ${node.driver} does not support ${method}: set it in the machine's firmware, or enroll the node with redfish.`,
  );
}
