import { and, asc, eq, gt, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import { type EndedFlow, spansOfFlow } from '#conductor/flows/traces/spans-of-flow.ts';
import type { KernelContext } from '#conductor/kernel/context.ts';
import { flowEvents, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { sendSpans } from '#conductor/kernel/traces/send-spans.ts';
import type { TraceConfig } from '#conductor/kernel/traces/trace-settings.ts';
import { errorCode } from '#shared/errors/app-error.ts';

type TraceContext = Pick<KernelContext, 'db' | 'log'> & { readonly config: { readonly conductorName: string } };

const atOnce = 50;
/** Older ones were over before somebody wished for traces. */
const keptHours = 24;
/** What its own conductor has not sent by then, another one does. */
const ownSeconds = 60;

/**
 * Sends the flows that have ended as traces, each until a collector has taken it: a conductor that dies sends none twice
 * under another id, and loses none.
 * @throws AppError `unavailable` while the collector can't be reached
 */
export async function exportTraces(context: TraceContext, config: TraceConfig, signal: AbortSignal): Promise<void> {
  for (;;) {
    const ended = await readEnded(context);
    if (ended.length === 0 || signal.aborted) return;
    try {
      await sendSpans(config, ended.flatMap(spansOfFlow), signal);
    } catch (error) {
      if (errorCode(error) !== 'invalid_argument') throw error;
      context.log.error({ err: error, flows: ended.length }, 'traces are refused, and given up');
    }
    const uuids = ended.map(({ flow }) => flow.uuid);
    await context.db.update(flows).set({ isTraced: true }).where(inArray(flows.uuid, uuids));
  }
}

/** Those that this conductor has ended, and those that nobody else has sent. */
async function readEnded({ db, config }: TraceContext): Promise<EndedFlow[]> {
  const since = (length: SQL): SQL => sql`now() - make_interval(${length})`;
  const isOwn = sql`(
    ${flows.endedAt} < ${since(sql`secs => ${ownSeconds}`)} or ${config.conductorName} = (
      select conductor from ${flowEvents} where ${flowEvents.flowUuid} = ${flows.uuid} order by ${flowEvents.id} desc limit 1))`;
  const rows = await db
    .select({ flow: flows, nodeName: nodes.name })
    .from(flows)
    .leftJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .where(and(isNull(flows.isTraced), gt(flows.endedAt, since(sql`hours => ${keptHours}`)), isOwn))
    .orderBy(asc(flows.endedAt))
    .limit(atOnce);
  if (rows.length === 0) return [];
  const uuids = rows.map(({ flow }) => flow.uuid);
  const [steps, events] = await Promise.all([
    db.select().from(flowSteps).where(inArray(flowSteps.flowUuid, uuids)).orderBy(flowSteps.position),
    db.select().from(flowEvents).where(inArray(flowEvents.flowUuid, uuids)).orderBy(flowEvents.id),
  ]);
  const stepsOf = Map.groupBy(steps, ({ flowUuid }) => flowUuid);
  const eventsOf = Map.groupBy(events, ({ flowUuid }) => flowUuid);
  return rows.map(({ flow, nodeName }) => ({
    flow,
    nodeName,
    steps: stepsOf.get(flow.uuid) ?? [],
    events: eventsOf.get(flow.uuid) ?? [],
  }));
}
