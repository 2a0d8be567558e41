import type { LogEntry, ManagementInterface, SensorReading } from '#conductor/drivers/interfaces.ts';
import { forEachResting } from '#conductor/flows/background/resting-nodes.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { storableJson } from '#conductor/kernel/db/query/statement.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { addHistory, forgetOldest, listHistory } from '#conductor/nodes/node-history.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

const atOnce = 4;
/** Sensors and event logs are many requests. */
const patienceMs = 10_000;
/** Limit of readings of all nodes of a conductor: what Prometheus keeps of one target. */
const mostReadings = 50_000;
const namedInLog = 20;
const newestRead = 100;
/** Critical entries, and as many others: noise must not hide them. */
const mostAdded = 20;
/** A fan that comes and goes, or a tenant who writes to the log, must not push everything else out of a node's history. */
const mostKept = 50;
const eventType = 'hardware';
const healthValues = { ok: 0, warning: 1, critical: 2 } as const;

/** Asks resting nodes' BMCs for their sensors, which become metrics, and their event logs, which go into the history. */
export function createHardwareWatch(context: EngineContext): (signal: AbortSignal) => Promise<void> {
  /** Reads that failed in the last round, and why: it is logged when that changes. */
  let failing: ReadonlyMap<string, string> = new Map();
  return async (signal) => {
    const found = new Map<string, readonly SensorReading[]>();
    const failed = new Map<string, string>();
    const attempt = async (uuid: string, what: string, act: () => Promise<void>): Promise<void> => {
      try {
        await act();
      } catch (error) {
        if (signal.aborted) throw error;
        const [key, why] = [`${uuid} ${what}`, errorChain(error)];
        failed.set(key, why);
        if (failing.get(key) === why) return;
        context.log[errorCode(error) === 'not_supported' ? 'debug' : 'warn'](
          { node: uuid, err: error },
          `${what} not read`,
        );
      }
    };
    const look = ({ uuid }: { readonly uuid: string }): Promise<void> =>
      attempt(uuid, 'hardware', async () => {
        const node = await findNode(context.db, uuid);
        if (!node) return;
        const { management } = context.drivers.connect(node, { node: uuid });
        await attempt(uuid, 'sensors', async () => {
          const readings = await management.getSensors?.({ signal });
          if (readings) found.set(node.name ?? uuid, readings);
        });
        await attempt(uuid, 'event log', () => addEvents(context, node, management, signal));
      });
    await forEachResting(context, look, { atOnce, patienceMs, goOn: () => !signal.aborted });
    if (signal.aborted) return;
    failing = failed;
    setMetrics(context, found);
  };
}

/** Replaces the metrics of the round before. Where there are too many sensors, each round leaves out the same nodes. */
export function setMetrics(
  { metrics, log }: Pick<EngineContext, 'metrics' | 'log'>,
  found: ReadonlyMap<string, readonly SensorReading[]>,
): void {
  metrics.sensorReadings.reset();
  metrics.sensorHealth.reset();
  let left = mostReadings;
  const missing: string[] = [];
  for (const [node, readings] of [...found].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    if (readings.length > left) {
      missing.push(node);
      continue;
    }
    left -= readings.length;
    for (const { name: sensor, kind, unit, value } of readings) {
      if (value !== null) metrics.sensorReadings.set({ node, sensor, kind, unit: unit ?? '' }, value);
    }
    // should a driver call sensors alike, a healthy one does not hide the other
    for (const health of ['ok', 'warning', 'critical'] as const) {
      for (const { name: sensor } of readings.filter((each) => each.health === health)) {
        metrics.sensorHealth.set({ node, sensor }, healthValues[health]);
      }
    }
  }
  if (missing.length === 0) return;
  const nodes = missing.slice(0, namedInLog);
  log.warn({ mostReadings, count: missing.length, nodes }, 'too many sensors for the metrics: some nodes have none');
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
    for (const [severity, { length }] of Map.groupBy(added, severityOf)) {
      await forgetOldest(tx, nodeUuid, { eventType, severity, keep: mostKept - length });
    }
    for (const entry of added) {
      const severity = severityOf(entry);
      await addHistory(tx, { nodeUuid, severity, eventType, event: textOf(entry), conductor: config.conductorName });
    }
  });
}

/**
 * Selects the entries after the last known one, 20 critical ones and 20 others at most; where that has gone from the
 * log, those that are younger. Of a log that was never read only the newest entry: older ones can be read at the BMC.
 */
export function newEntries(entries: readonly LogEntry[], last: string | undefined): readonly LogEntry[] {
  if (last === undefined) return entries.slice(-1);
  const known = entries.findLastIndex((entry) => textOf(entry) === last);
  const since = timeOf(last);
  const younger = ({ at }: LogEntry): boolean => at === null || since === undefined || at > since;
  const all = known === -1 ? entries.filter(younger) : entries.slice(known + 1);
  const added = new Set([...Map.groupBy(all, severityOf).values()].flatMap((alike) => alike.slice(-mostAdded)));
  return all.filter((entry) => added.has(entry));
}

function severityOf({ severity }: LogEntry): 'INFO' | 'ERROR' {
  return severity === 'critical' ? 'ERROR' : 'INFO';
}

function textOf({ at, severity, message }: LogEntry): string {
  // what can't be stored would keep the rest of the log out of the history
  return storableJson(`event log${at === null ? '' : ` ${at}`}: ${severity === null ? '' : `${severity}: `}${message}`);
}

function timeOf(text: string): string | undefined {
  return /^event log (\S+Z): /.exec(text)?.[1];
}
