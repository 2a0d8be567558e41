import type { Caller } from '#conductor/kernel/caller.ts';
import { requireKnownGroup } from '#conductor/kernel/conductors/node-conductor.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type JsonPatch, patchRoots } from '#conductor/kernel/json-patch.ts';
import { sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import { changeNote, describePatch } from '#conductor/nodes/change-note.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import { requireChassis } from '#conductor/nodes/chassis.ts';
import type { NodesContext, Nudging } from '#conductor/nodes/context.ts';
import { followNodeChange, forgetAllocation } from '#conductor/nodes/node-allocation.ts';
import { actedVia, addHistory } from '#conductor/nodes/node-history.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { mayBringCapacity, notifyCapacity } from '#conductor/nodes/notify-capacity.ts';
import { planNodePatch } from '#conductor/nodes/plan-node-patch.ts';
import { requireUnowned } from '#conductor/nodes/require-unowned.ts';

/**
 * `PATCH /v1/nodes/{node}` in one transaction.
 * @throws AppError `invalid_argument`, `conflict`, `node_locked`.
 */
export async function changeNode(
  context: Pick<NodesContext, 'db' | 'config' | 'drivers' | 'clock' | 'secrets' | 'conductors'>,
  nodeUuid: string,
  patch: JsonPatch,
  {
    version,
    caller,
    isUnowned = false,
  }: {
    readonly version: number;
    readonly caller: Caller;
    /** Only while it is nobody's. */
    readonly isUnowned?: boolean;
  },
): Promise<NodeRow> {
  const note = patch.length > 0 ? changeNote(context, caller, describePatch(patch)) : undefined;
  if (patchRoots(patch).some((root) => root === 'conductor_group' || root === 'driver'))
    await context.conductors.live();
  return changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      if (isUnowned) requireUnowned(node);
      const asked = planNodePatch(node, patch, {
        version,
        defaultNetworkInterface: context.config.defaultNetworkInterface,
        knownDrivers: context.drivers.hardwareTypes.map((type) => type.name),
      });
      const { change, releases } = await followNodeChange(tx, node, asked);
      const { driver = node.driver, conductorGroup = node.conductorGroup } = change;
      const isMoved = driver !== node.driver || conductorGroup !== node.conductorGroup;
      if (isMoved) requireKnownGroup(context, { driver, conductorGroup });
      if (change.chassisUuid) await requireChassis(tx, change.chassisUuid);
      if (Object.keys(change).length > 0)
        await updateNode(tx, nodeUuid, sealNode(context.secrets, nodeUuid, change, node));
      if (releases) await forgetAllocation(tx, node, { conductor: context.config.conductorName, caller });
      if (mayBringCapacity(change)) await notifyCapacity(tx, nodeUuid);
      return getNode(tx, nodeUuid);
    },
    note,
  );
}

/** Out of service until a person says otherwise; possible at any time, also while a conductor works on the node. */
export async function setMaintenance(
  context: Pick<NodesContext, 'db' | 'config'> & Nudging,
  nodeUuid: string,
  maintenance: { readonly on: true; readonly reason: string | undefined } | { readonly on: false },
  caller: Caller,
): Promise<void> {
  await context.db.transaction(async (tx) => {
    const reason = maintenance.on ? (maintenance.reason ?? null) : null;
    await updateNode(tx, nodeUuid, {
      maintenance: maintenance.on,
      maintenanceReason: reason,
      // a fault is a conductor's reason, which the conductor ends: an operator's maintenance has none
      fault: null,
    });
    if (!maintenance.on) await notifyCapacity(tx, nodeUuid);
    await addHistory(tx, {
      nodeUuid,
      severity: 'INFO',
      eventType: 'maintenance',
      event: actedVia(maintenance.on ? `maintenance on${reason ? `: ${reason}` : ''}` : 'maintenance off', caller),
      conductor: context.config.conductorName,
      user: caller.user,
      project: caller.project,
      notify: { type: 'node.maintenance', data: { maintenance: maintenance.on, reason, fault: null } },
    });
  });
  // a flow under way is held, or goes on
  context.nudge(nodeUuid);
}
