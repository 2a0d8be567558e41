import type { LogEntry, ManagementInterface, SensorReading } from '#conductor/drivers/interfaces.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { listResting } from '#conductor/flows/resting-nodes.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { addHistory, forgetOldest, listHistory } from '#conductor/nodes/node-history.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

const atOnce = 4;
/** Of all nodes of a conductor: what Prometheus keeps of one target. */
const mostReadings = 50_000;
const newestRead = 100;
const mostAdded = 20;
/** A fan that comes and goes, or a tenant who writes to the log, must not push everything else out of a node's history. */
const mostKept = 50;
const eventType = 'hardware';
const healthValues = { ok: 0, warning: 1, critical: 2 } as const;

/** Asks resting nodes' BMCs for their sensors, which become metrics, and their event logs, which go into the history. */
export function createHardwareWatch(context: EngineContext): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const found = new Map<string, readonly SensorReading[]>();
    const look = async ({ uuid }: { readonly uuid: string }): Promise<void> => {
      const node = await findNode(context.db, uuid);
      if (!node) return;
      const { management } = context.drivers.connect(node, { node: uuid });
      const log = context.log.child({ node: uuid });
      const ask = async <T>(what: string, answer: Promise<T> | undefined): Promise<T | undefined> => {
        try {
          return await answer;
        } catch (error) {
          if (signal.aborted) throw error;
          log[errorCode(error) === 'not_supported' ? 'debug' : 'warn']({ err: error }, `${what} not read`);
          return undefined;
        }
      };
      const readings = await ask('sensors', management.getSensors?.({ signal }));
      if (readings) found.set(node.name ?? uuid, readings);
      await ask('event log', addEvents(context, node, management, signal));
    };
    await inParallel(await listResting(context), look, { atOnce, goOn: () => !signal.aborted });
    if (!signal.aborted) setMetrics(context, found);
  };
}

/** In place of those of the round before. */
function setMetrics({ metrics, log }: EngineContext, found: ReadonlyMap<string, readonly SensorReading[]>): void {
  metrics.sensorReadings.reset();
  metrics.sensorHealth.reset();
  let left = mostReadings;
  for (const [node, readings] of found) {
    if ((left -= readings.length) < 0) {
      log.warn({ mostReadings }, 'too many sensors for the metrics: those of some nodes are missing');
      return;
    }
    for (const { name: sensor, kind, unit, value, health } of readings) {
      if (value !== null) metrics.sensorReadings.set({ node, sensor, kind, unit: unit ?? '' }, value);
      if (health !== null) metrics.sensorHealth.set({ node, sensor }, healthValues[health]);
    }
  }
}

/** The history itself says which entries it has: the newest of them is searched in the log. */
async function addEvents(
  { db, config }: EngineContext,
  { uuid: nodeUuid }: NodeRow,
  management: ManagementInterface,
  signal: AbortSignal,
): Promise<void> {
  const entries = await management.getEventLog?.(newestRead, { signal });
  if (!entries || entries.length === 0) return;
  const last = (await listHistory(db, nodeUuid)).find((entry) => entry.eventType === eventType)?.event;
  const added = newEntries(entries, last);
  if (added.length === 0) return;
  await db.transaction(async (tx) => {
    // before the new ones come, for which the oldest of any type would go
    await forgetOldest(tx, nodeUuid, { eventType, keep: mostKept - added.length });
    for (const entry of added) {
      const severity = entry.severity === 'critical' ? 'ERROR' : 'INFO';
      await addHistory(tx, { nodeUuid, severity, eventType, event: textOf(entry), conductor: config.conductorName });
    }
  });
}

/**
 * Those after the last known one, 20 at most; where that has gone from the log, those that are younger. Of a log that was
 * never read the newest entry alone: its past is the BMC's to tell.
 */
export function newEntries(entries: readonly LogEntry[], last: string | undefined): readonly LogEntry[] {
  if (last === undefined) return entries.slice(-1);
  const known = entries.findLastIndex((entry) => textOf(entry) === last);
  const since = timeOf(last);
  const younger = ({ at }: LogEntry): boolean => at === null || since === undefined || at > since;
  return (known === -1 ? entries.filter(younger) : entries.slice(known + 1)).slice(-mostAdded);
}

function textOf({ at, severity, message }: LogEntry): string {
  return `event log${at === null ? '' : ` ${at}`}: ${severity === null ? '' : `${severity}: `}${message}`;
}

function timeOf(text: string): string | undefined {
  return /^event log (\S+Z): /.exec(text)?.[1];
}
