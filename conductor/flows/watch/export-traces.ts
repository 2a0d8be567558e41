import { createHash } from 'node:crypto';
import { and, asc, eq, gt, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import type { KernelContext } from '#conductor/kernel/context.ts';
import { type FlowRow, type FlowStepRow, flowEvents, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type Span, sendSpans } from '#conductor/kernel/traces/send-spans.ts';
import type { TraceConfig } from '#conductor/kernel/traces/trace-settings.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { errorCode } from '#shared/errors/app-error.ts';

type TraceContext = Pick<KernelContext, 'db' | 'log'> & { readonly config: { readonly conductorName: string } };

const atOnce = 50;
/** Older ones were over before somebody wished for traces. */
const keptHours = 24;
/** Time for a flow's own conductor to send it; by then another one does. */
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

/** Reads the flows that this conductor has ended, and those that nobody else has sent. */
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

interface EndedFlow {
  /** Flow of a node, or of the site. */
  readonly flow: Omit<FlowRow, 'nodeUuid' | 'kind'> & { readonly nodeUuid: string | null; readonly kind: string };
  readonly nodeName: string | null;
  readonly steps: readonly FlowStepRow[];
  /** In their order. */
  readonly events: readonly (typeof flowEvents.$inferSelect)[];
}

/**
 * Returns a flow as a trace: the flow, its steps that have begun below it, and below those the commands that the agent was
 * given, one an attempt. Ids come from what is in the database: no matter who sends it and how often, it is the same trace.
 * Pure.
 */
function spansOfFlow({ flow, nodeName, steps, events }: EndedFlow): Span[] {
  const end = flow.endedAt ?? flow.startedAt;
  const traceId = flow.uuid.replaceAll('-', '');
  const root: Span = {
    traceId,
    spanId: idOf(flow.uuid),
    name: flow.kind,
    kind: 'internal',
    start: flow.startedAt,
    end,
    attributes: {
      'baton.flow': flow.uuid,
      'baton.flow.state': flow.state,
      'baton.node.uuid': flow.nodeUuid,
      'baton.node.name': nodeName,
      'baton.action': flow.actionId ?? flow.siteActionId,
      'enduser.id': flow.requestedBy,
      'baton.request': flow.requestId,
      'baton.request.global': flow.globalRequestId,
    },
    events: [],
    error: flow.state === 'succeeded' ? null : (flow.error ?? flow.state),
  };
  const ofSteps = steps.flatMap((step) =>
    spansOfStep(step, { root, events: events.filter(({ stepUuid }) => stepUuid === step.uuid) }),
  );
  return [root, ...ofSteps];
}

function spansOfStep(
  step: FlowStepRow,
  { root, events }: { readonly root: Span; readonly events: EndedFlow['events'] },
): Span[] {
  const { startedAt, endedAt } = step;
  if (!startedAt) return [];
  const end = endedAt ?? root.end;
  const starts = events.filter(({ event }) => event === 'started');
  const span: Span = {
    traceId: root.traceId,
    spanId: idOf(step.uuid),
    parentSpanId: root.spanId,
    name: stepTitle(step),
    kind: 'internal',
    start: startedAt,
    end,
    attributes: {
      'baton.step': step.uuid,
      'baton.step.phase': step.phase,
      'baton.step.origin': step.origin,
      'baton.step.in_band': step.inBand,
      'baton.step.state': step.state,
      'baton.step.attempts': starts.length,
      'baton.conductor': events.at(-1)?.conductor ?? null,
    },
    events: events.map(({ event, at, detail }) => ({
      name: event,
      at,
      attributes: { 'baton.detail': shortened(detail) },
    })),
    error: shortened(step.error),
  };
  if (!step.inBand) return [span];
  const commands = starts.map(({ id, at, conductor }, index): Span => {
    const isLast = index === starts.length - 1;
    return {
      ...span,
      spanId: idOf(`command ${id}`),
      parentSpanId: span.spanId,
      name: `agent ${span.name}`,
      kind: 'client',
      start: at,
      end: isLast ? end : (starts[index + 1]?.at ?? end),
      attributes: { 'baton.step': step.uuid, 'baton.attempt': index + 1, 'baton.conductor': conductor },
      events: [],
      error: isLast ? span.error : null,
    };
  });
  return [span, ...commands];
}

const mostLetters = 1000;
const shortened = (text: string | null): string | null => text?.slice(0, mostLetters) ?? null;

/** Returns an id of 16 hex digits. */
const idOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
