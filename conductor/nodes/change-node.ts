import type { ConductorContext } from '#conductor/context.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import type { JsonPatch } from '#conductor/nodes/json-patch.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { refuseLocked } from '#conductor/nodes/node-lock.ts';
import { lockNode, updateNode } from '#conductor/nodes/node-store.ts';
import { planNodePatch } from '#conductor/nodes/plan-node-patch.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** As Ironic: power reads and the like hold a node for moments only. */
const lockTries = 3;
const lockTryMs = 1000;

/**
 * `PATCH /v1/nodes/{node}` in one transaction.
 * @throws AppError `invalid_argument`, `conflict`, `node_locked` after three tries a second apart.
 */
export async function changeNode(
  context: Pick<ConductorContext, 'db' | 'config' | 'drivers' | 'clock'>,
  nodeUuid: string,
  patch: JsonPatch,
  version: number,
): Promise<NodeRow> {
  for (let tryNumber = 1; ; tryNumber += 1) {
    try {
      return await changeOnce(context, nodeUuid, patch, version);
    } catch (error) {
      const locked = error instanceof AppError && error.code === 'node_locked';
      if (!locked || tryNumber === lockTries) throw error;
      await context.clock.sleep(lockTryMs);
    }
  }
}

function changeOnce(
  context: Pick<ConductorContext, 'db' | 'config' | 'drivers'>,
  nodeUuid: string,
  patch: JsonPatch,
  version: number,
): Promise<NodeRow> {
  return context.db.transaction(async (tx) => {
    const node = await lockNode(tx, nodeUuid);
    const change = planNodePatch(node, patch, {
      version,
      defaultNetworkInterface: context.config.defaultNetworkInterface,
      knownDrivers: context.drivers.hardwareTypes.map((type) => type.name),
    });
    await refuseLocked(tx, nodeUuid);
    if (Object.keys(change).length > 0) await updateNode(tx, nodeUuid, change);
    return lockNode(tx, nodeUuid);
  });
}

/** Out of service until a person says otherwise; possible at any time, also while a conductor works on the node. */
export async function setMaintenance(
  context: Pick<ConductorContext, 'db' | 'config'>,
  nodeUuid: string,
  maintenance: { readonly on: true; readonly reason: string | undefined } | { readonly on: false },
): Promise<void> {
  await context.db.transaction(async (tx) => {
    const reason = maintenance.on ? (maintenance.reason ?? null) : null;
    await updateNode(tx, nodeUuid, {
      maintenance: maintenance.on,
      maintenanceReason: reason,
      ...(maintenance.on ? {} : { fault: null }),
    });
    await addHistory(tx, {
      nodeUuid,
      severity: 'INFO',
      eventType: 'maintenance',
      event: maintenance.on ? `maintenance on${reason ? `: ${reason}` : ''}` : 'maintenance off',
      conductor: context.config.conductorName,
    });
  });
}
