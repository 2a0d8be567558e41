import { and, isNull, notExists, sql } from 'drizzle-orm';
import type { ConductorContext } from '#conductor/context.ts';
import { flows } from '#conductor/db/schema/flow.ts';
import { type NodeRow, nodes } from '#conductor/db/schema/node.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { errorChain } from '#shared/errors/app-error.ts';

const failuresUntilMaintenance = 3;
const concurrentReads = 8;
const powerFault = 'power failure';

/**
 * Reads every resting node's power state from its BMC and records what it finds: the hardware is right, as an
 * operator's hand on the power button is. A BMC that fails three times in a row puts its node into maintenance with
 * fault `power failure`, and the first good answer takes it out again (Ironic's manner).
 */
export async function syncPower(context: ConductorContext, signal: AbortSignal): Promise<void> {
  const resting = await context.db
    .select()
    .from(nodes)
    .where(
      and(
        sql`${nodes.provisionState} not in ('enroll', 'verifying')`,
        isNull(nodes.targetPowerState),
        notExists(
          context.db
            .select({ one: sql`1` })
            .from(flows)
            .where(and(sql`${flows.nodeUuid} = ${nodes.uuid}`, isNull(flows.endedAt))),
        ),
      ),
    );
  const queue = resting.values();
  const reader = async (): Promise<void> => {
    for (const node of queue) {
      if (signal.aborted) return;
      await syncOne(context, node, signal);
    }
  };
  await Promise.all(Array.from({ length: concurrentReads }, reader));
}

async function syncOne(context: ConductorContext, node: NodeRow, signal: AbortSignal): Promise<void> {
  const { db, config } = context;
  const lease = await claimLease(db, node.uuid, { holder: config.conductorName, leaseMs: config.leaseMs });
  if (!lease) return;
  try {
    const { power } = context.drivers.hardwareType(node.driver).connect(node.driverInfo);
    const found = await power.getPowerState({ signal, timeoutMs: config.powerTimeoutMs });
    if (found) await recordFound(context, node, found);
  } catch (error) {
    if (!signal.aborted) await recordFailure(context, node, error);
  } finally {
    await releaseLease(db, lease);
  }
}

async function recordFound(context: ConductorContext, node: NodeRow, found: 'power on' | 'power off'): Promise<void> {
  if (found === node.powerState && node.powerFailures === 0 && node.fault !== powerFault) return;
  await updateNode(context.db, node.uuid, {
    powerState: found,
    powerFailures: 0,
    ...(node.fault === powerFault ? { fault: null, maintenance: false, maintenanceReason: null } : {}),
  });
  if (found === node.powerState) return;
  await addHistory(context.db, {
    nodeUuid: node.uuid,
    severity: 'INFO',
    eventType: 'power',
    event: `found '${found}' where '${node.powerState ?? 'unknown'}' was on record`,
    conductor: context.config.conductorName,
  });
}

async function recordFailure(context: ConductorContext, node: NodeRow, error: unknown): Promise<void> {
  const powerFailures = node.powerFailures + 1;
  const gone = powerFailures >= failuresUntilMaintenance && !node.maintenance;
  const reason = `power state unknown after ${powerFailures} tries: ${errorChain(error)}`;
  context.log.warn({ node: node.uuid, powerFailures, err: error }, 'power state not read');
  await updateNode(context.db, node.uuid, {
    powerFailures,
    ...(gone ? { maintenance: true, maintenanceReason: reason, fault: powerFault, powerState: null } : {}),
  });
}
