import type { PowerAndHealth } from '#conductor/drivers/interfaces.ts';
import { forEachResting, leavesMachine, type RestingPart } from '#conductor/flows/background/resting-nodes.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import type { PowerState } from '#conductor/model/power-and-boot.ts';
import { type FirmwareBootColumns, readFirmwareBoot } from '#conductor/nodes/boot/boot-mode.ts';
import { writeMaintenance } from '#conductor/nodes/change/change-node.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { requireUnlocked } from '#conductor/nodes/node-lock.ts';
import { findNode, lockNode, updateNode } from '#conductor/nodes/node-store.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

/** Words of the API, which are Redfish's. */
const healthWords = { ok: 'OK', warning: 'Warning', critical: 'Critical' } as const;
const failuresUntilMaintenance = 3;
/** Reads at the same time: with half a second's patience 128 begin a second, however slow the BMCs are. */
const concurrentReads = 64;
const patienceMs = 500;
/** Time that a loaded BMC gets, however short the interval is. */
const leastTimeoutMs = 30_000;
/** Nodes that could not be recorded: the database is away. */
const mostFailures = 8;

/**
 * Reads power state and health of every resting node that is this conductor's, and records what it finds: the hardware is
 * right, as an operator's hand on the power button is. A BMC that fails three times in a row puts its node into
 * maintenance with fault `power failure`, and the first good answer takes it out again (Ironic's manner).
 */
export async function syncPower(context: EngineContext, signal: AbortSignal, part: PowerPart = {}): Promise<void> {
  // one node that can't be recorded keeps no other from its turn; a database that is away is not asked for each
  const failures: unknown[] = [];
  const sync = async ({ uuid }: { readonly uuid: string }): Promise<void> => {
    if (part.isDue?.(uuid) === false) return;
    await syncOne(context, uuid, { signal, onSilent: part.onSilent }).catch((error: unknown) => failures.push(error));
  };
  const goOn = (): boolean => !signal.aborted && failures.length < mostFailures;
  await forEachResting(context, sync, { atOnce: concurrentReads, patienceMs, goOn, only: part.only });
  if (failures.length > 0) throw failures[0];
}

/** Nodes of one round; default: all. */
interface PowerPart {
  /** A thousand that are silent take minutes, and those that answer are read each period. */
  readonly only?: RestingPart;
  readonly isDue?: (nodeUuid: string) => boolean;
  /** Called before the failure can be seen in the database. */
  readonly onSilent?: ((nodeUuid: string) => void) | undefined;
}

/**
 * Makes the two rounds, which run at once. A BMC that fails in the first is the second's once that is a period ago: three
 * failures in a row are a period apart.
 * @param nowMs a steady clock
 */
export function createPowerRounds(
  context: EngineContext,
  nowMs: () => number = () => performance.now(),
): Readonly<Record<RestingPart, (signal: AbortSignal) => Promise<void>>> {
  const silentSince = new Map<string, number>();
  const onSilent = (uuid: string): void => void silentSince.set(uuid, nowMs());
  const isDue = (uuid: string): boolean => !silentSince.has(uuid);
  return {
    answering: (signal) => syncPower(context, signal, { only: 'answering', onSilent }),
    silent: (signal) => {
      for (const [uuid, since] of silentSince) {
        if (nowMs() - since >= context.config.powerSyncIntervalMs) silentSince.delete(uuid);
      }
      return syncPower(context, signal, { only: 'silent', isDue });
    },
  };
}

/** A BMC that is away takes a minute to fail: the node is not held meanwhile, so that nobody waits for that. */
async function syncOne(
  context: EngineContext,
  nodeUuid: string,
  { signal, onSilent }: { readonly signal: AbortSignal } & Pick<PowerPart, 'onSilent'>,
): Promise<void> {
  const { config, drivers } = context;
  // the next round asks again, but a slow BMC is not a dead one
  const timeoutMs = Math.min(config.powerTimeoutMs, Math.max(config.powerSyncIntervalMs, leastTimeoutMs));
  // others may have kept this task busy since the list was read
  const node = await findNode(context.db, nodeUuid);
  if (!node) return;
  let seen: PowerAndHealth;
  let firmware: FirmwareBootColumns = {};
  try {
    const bmc = drivers.connect(node, { node: node.uuid });
    const limits = { signal, timeoutMs };
    seen = (await bmc.power.getPowerAndHealth?.(limits)) ?? {
      powerState: await bmc.power.getPowerState(limits),
      health: null,
    };
    const { powerState: found } = seen;
    // it changes with a boot at most, and asking every BMC every time costs two calls more
    if (found !== undefined && found !== node.powerState) {
      firmware = await readFirmwareBoot(bmc, { log: context.log, signal });
    }
  } catch (error) {
    if (signal.aborted) return;
    onSilent?.(node.uuid);
    context.log.warn({ node: node.uuid, powerFailures: node.powerFailures + 1, err: error }, 'power state not read');
    await recordIfUntouched(context, node, (tx) => recordFailure(tx, node, { error, conductor: config.conductorName }));
    return;
  }
  const health = seen.health && healthWords[seen.health];
  const { powerState: found } = seen;
  const isPowerNews = found !== undefined && !isKnown(node, found);
  if (!isPowerNews && health === node.health) return;
  await recordIfUntouched(context, node, async (tx) => {
    const conductor = config.conductorName;
    await recordHealth(tx, node, { health, conductor });
    if (isPowerNews) await recordFound(tx, node, { found, firmware, conductor });
  });
}

function isAtWork(flow: Pick<FlowRow, 'kind'> | undefined): boolean {
  return flow !== undefined && !leavesMachine.includes(flow.kind);
}

/**
 * Records what was read, unless anybody has acted on the node meanwhile: then it is worth nothing, and the next period
 * reads again.
 */
async function recordIfUntouched(
  context: EngineContext,
  node: NodeRow,
  record: (tx: Transaction) => Promise<void>,
): Promise<void> {
  try {
    await context.db.transaction(async (tx) => {
      if (!(await findNode(tx, node.uuid))) return;
      await requireUnlocked(tx, node.uuid);
      const now = await lockNode(tx, node.uuid);
      const untouched =
        now.powerState === node.powerState &&
        now.targetPowerState === null &&
        now.updatedAt?.getTime() === node.updatedAt?.getTime() &&
        (now.fault === nodeFaults.restored || !isAtWork(await findOpenFlow(tx, node.uuid)));
      if (untouched) await record(tx);
    });
  } catch (error) {
    if (errorCode(error) !== 'node_locked') throw error;
  }
}

function isKnown(node: NodeRow, found: PowerState): boolean {
  return found === node.powerState && node.powerFailures === 0 && node.fault !== nodeFaults.power;
}

/** Records the health that the BMC reports, also where it does not know whether the machine is on. */
async function recordHealth(
  tx: Transaction,
  node: NodeRow,
  { health, conductor }: { readonly health: NodeRow['health']; readonly conductor: string },
): Promise<void> {
  if (health === node.health) return;
  await updateNode(tx, node.uuid, { health });
  // that a machine which nobody has looked at is well is no news
  if (node.health === null && health === 'OK') return;
  await addHistory(tx, {
    nodeUuid: node.uuid,
    severity: health === 'Critical' ? 'ERROR' : 'INFO',
    eventType: 'monitoring',
    event: `health is ${health ?? 'not reported any more'} where ${node.health ?? 'none'} was on record`,
    conductor,
  });
}

async function recordFound(
  tx: Transaction,
  node: NodeRow,
  {
    found,
    firmware,
    conductor,
  }: {
    readonly found: PowerState;
    readonly firmware: FirmwareBootColumns;
    readonly conductor: string;
  },
): Promise<void> {
  await updateNode(tx, node.uuid, { powerState: found, powerFailures: 0, ...firmware });
  if (node.fault === nodeFaults.power) {
    const event = 'maintenance off: the BMC answers again';
    await writeMaintenance(tx, node.uuid, { on: false }, { event, conductor });
  }
  if (found === node.powerState) return;
  await addHistory(tx, {
    nodeUuid: node.uuid,
    eventType: 'power',
    event: `found '${found}' where '${node.powerState ?? 'unknown'}' was on record`,
    conductor,
    notify: {
      type: 'node.power_state',
      data: { power_state: found, target_power_state: null, event: 'found' },
    },
  });
}

async function recordFailure(
  tx: Transaction,
  node: NodeRow,
  { error, conductor }: { readonly error: unknown; readonly conductor: string },
): Promise<void> {
  const powerFailures = node.powerFailures + 1;
  const gone = powerFailures >= failuresUntilMaintenance && !node.maintenance;
  const reason = `power state unknown after ${powerFailures} tries: ${errorChain(error)}`;
  await updateNode(tx, node.uuid, { powerFailures, ...(gone ? { powerState: null, health: null } : {}) });
  if (!gone) return;
  const note = { event: `maintenance on: ${reason}`, conductor };
  await writeMaintenance(tx, node.uuid, { on: true, reason, fault: nodeFaults.power }, note);
}
