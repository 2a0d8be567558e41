import { randomUUID } from 'node:crypto';
import { and, desc, eq, getTableColumns, inArray, isNull, lte, type SQL, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/rows-of.ts';
import { type FlowRow, type FlowStepRow, flowSteps, flows, nodeFlow } from '#conductor/kernel/db/schema/flow.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { storableJson } from '#conductor/kernel/db/storable-json.ts';
import { type TableReader, tableReader } from '#conductor/kernel/db/table-reader.ts';
import { together } from '#conductor/kernel/db/together.ts';
import { isFree } from '#conductor/kernel/lease.ts';
import { notifyWebhooks } from '#conductor/kernel/outbox.ts';
import { type FlowEvent, type FlowStepPhase, stateAfter } from '#conductor/model/flow-log.ts';
import type { FlowKindName, WipeRequest } from '#conductor/model/flow-states.ts';
import type { PlannedStep, RequestedStep } from '#conductor/model/planned-step.ts';
import { attendedBy, isHeld, type Lease } from '#conductor/nodes/node-lease.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** For statements that read flows of nodes only. */
export const flowReader = tableReader(flows, 'uuid') as TableReader<FlowRow>;
const selectOpenFlow = sql.raw(`SELECT ${flowReader.selected} FROM flows WHERE ended_at IS NULL AND node_uuid =`);

/** The node's flow that has not ended; there is at most one. */
export async function findOpenFlow(db: Queryable, nodeUuid: string): Promise<FlowRow | undefined> {
  const [row] = rowsOf(await db.execute(sql`${selectOpenFlow} ${nodeUuid}`)) as Record<string, unknown>[];
  return row && flowReader.read(row);
}

export async function findLatestFlow(db: Queryable, nodeUuid: string): Promise<FlowRow | undefined> {
  const [row] = await db
    .select({ ...getTableColumns(flows), ...nodeFlow })
    .from(flows)
    .where(eq(flows.nodeUuid, nodeUuid))
    .orderBy(sql`${flows.endedAt} is not null`, desc(flows.startedAt))
    .limit(1);
  return row;
}

const stepReader = tableReader(flowSteps, 'uuid');
const selectedSteps = `SELECT ${stepReader.selected} FROM flow_steps WHERE flow_uuid =`;
const selectSteps = sql.raw(selectedSteps);

/** A flow's steps in the order in which they run. */
export async function listSteps(db: Queryable, flowUuid: string): Promise<FlowStepRow[]> {
  return readSteps(db, sql`${selectSteps} ${flowUuid} ORDER BY position`);
}

const selectOpenSteps = sql.raw(`${selectedSteps} (SELECT uuid FROM flows WHERE ended_at IS NULL AND node_uuid =`);

/** The same of the node's flow that has not ended. */
export async function listOpenSteps(db: Queryable, nodeUuid: string): Promise<FlowStepRow[]> {
  return readSteps(db, sql`${selectOpenSteps} ${nodeUuid}) ORDER BY position`);
}

async function readSteps(db: Queryable, query: SQL): Promise<FlowStepRow[]> {
  return (rowsOf(await db.execute(query)) as Record<string, unknown>[]).map((row) => stepReader.read(row));
}

export async function insertFlow(
  tx: Transaction,
  flow: {
    readonly nodeUuid: string;
    readonly kind: FlowKindName;
    readonly requestedBy?: string | undefined;
    readonly actionId?: string | undefined;
    readonly requestedSteps?: RequestedStep[];
    /** Of a plan that was complete when it was read. */
    readonly planHash?: string | undefined;
    readonly wipe?: WipeRequest | undefined;
    readonly steps: readonly PlannedStep[];
  },
): Promise<string> {
  const uuid = randomUUID();
  const inserted = tx
    .insert(flows)
    .values({
      uuid,
      nodeUuid: flow.nodeUuid,
      kind: flow.kind,
      state: 'running',
      requestedBy: flow.requestedBy ?? null,
      actionId: flow.actionId ?? null,
      requestedSteps: flow.requestedSteps ?? [],
      planHash: flow.planHash ?? null,
      wipe: flow.wipe ?? null,
    })
    .execute();
  await together([
    inserted,
    insertSteps(tx, { flowUuid: uuid, phase: 'main', from: 1, steps: flow.steps }),
    notifyWebhooks(tx, flow.nodeUuid, { type: 'node.flow_started', data: { flow: uuid, kind: flow.kind } }),
  ]);
  return uuid;
}

export async function insertSteps(
  tx: Transaction,
  options: {
    readonly flowUuid: string;
    readonly phase: FlowStepPhase;
    /** Position of the first. */
    readonly from: number;
    readonly steps: readonly PlannedStep[];
  },
): Promise<void> {
  if (options.steps.length === 0) return;
  await tx.insert(flowSteps).values(
    options.steps.map((step, index) => ({
      uuid: randomUUID(),
      flowUuid: options.flowUuid,
      phase: options.phase,
      position: options.from + index,
      ...step,
    })),
  );
}

/** Puts new main steps in place of those that have not started, and after everything that has. */
export async function replacePendingSteps(
  tx: Transaction,
  flowUuid: string,
  steps: readonly PlannedStep[],
): Promise<void> {
  await tx.delete(flowSteps).where(and(eq(flowSteps.flowUuid, flowUuid), eq(flowSteps.state, 'pending')));
  const [last] = await tx
    .select({ position: sql<number>`coalesce(max(${flowSteps.position}), 0)::int` })
    .from(flowSteps)
    .where(eq(flowSteps.flowUuid, flowUuid));
  await insertSteps(tx, { flowUuid, phase: 'main', from: (last?.position ?? 0) + 1, steps });
}

export interface StepEventOptions {
  readonly conductor: string;
  readonly now: Date;
  readonly error?: string;
  readonly output?: unknown;
  readonly waitingFor?: string;
  /** A wait for something to come; none = without limit. */
  readonly waitUntil?: Date;
  /** A passing fault: the step is run again until then. */
  readonly retryUntil?: Date;
}

/** What is appended to the intent log, and the step as it was when that was decided. */
export interface StepEvent extends StepEventOptions {
  readonly step: Pick<FlowStepRow, 'uuid' | 'flowUuid' | 'state' | 'startedAt' | 'waitUntil' | 'retryUntil'>;
  readonly event: FlowEvent;
}

/**
 * The only writer of step states: appends to the intent log and keeps the steps' rows in line with it, all of them or
 * none.
 * @param lease of the node that the flow is of: where it is given nothing else fences the record, and no transaction is
 * needed
 * @throws AppError `lease_lost` when a step has left `step.state` meanwhile, or the lease is lost: somebody else has moved
 * it on.
 */
export async function recordStepEvents(db: Queryable, events: readonly StepEvent[], lease?: Lease): Promise<void> {
  const recorded = JSON.stringify(events.map(eventRow));
  const held = lease ? sql`(select true from node_leases where ${isHeld(lease)} for update)` : sql`(select true)`;
  const answer = await db.execute(sql`
    with held as materialized ${held},
    event as materialized (select * from jsonb_to_recordset(${recorded}::text::jsonb) as (${eventColumns})),
    moved as (
      update flow_steps set state = event.state, started_at = event.started_at, ended_at = event.ended_at,
        waiting_for = event.waiting_for, wait_until = event.wait_until, run_again = event.run_again,
        retry_until = event.retry_until, error = coalesce(event.error, flow_steps.error),
        output = case when event.has_output then event.output else flow_steps.output end
      from event, held where flow_steps.uuid = event.step_uuid and flow_steps.state = event.state_before
        and ${events.length} = (
          select count(*) from flow_steps step join event each on step.uuid = each.step_uuid and step.state = each.state_before)
      returning flow_steps.uuid
    )
    insert into flow_events (flow_uuid, step_uuid, event, at, detail, conductor)
    select flow_uuid, step_uuid, event, at, detail, conductor from event join moved on moved.uuid = event.step_uuid
    order by place returning id`);
  if ((rowsOf(answer) as unknown[]).length === events.length) return;
  const steps = events.map(({ step }) => step.uuid).join(', ');
  throw new AppError('lease_lost', `step ${steps} was changed by another process`);
}

const eventColumns = sql.raw(`place int, flow_uuid uuid, step_uuid uuid, event text, at timestamptz, detail text,
  conductor text, state_before text, state text, started_at timestamptz, ended_at timestamptz, waiting_for text,
  wait_until timestamptz, run_again boolean, retry_until timestamptz, error text, has_output boolean, output jsonb`);

function eventRow({ step, event, ...options }: StepEvent, place: number): Record<string, unknown> {
  const ended = event === 'succeeded' || event === 'failed' || event === 'skipped';
  return {
    place,
    flow_uuid: step.flowUuid,
    step_uuid: step.uuid,
    event,
    at: options.now,
    detail: storableJson(options.error ?? options.waitingFor ?? null),
    conductor: options.conductor,
    state_before: step.state,
    state: stateAfter(step.state, event),
    started_at: step.startedAt ?? (event === 'started' ? options.now : null),
    ended_at: ended ? options.now : null,
    waiting_for: event === 'waiting' ? storableJson(options.waitingFor ?? null) : null,
    wait_until: ended ? null : (step.waitUntil ?? options.waitUntil ?? null),
    run_again: options.retryUntil !== undefined,
    retry_until:
      ended || (event === 'waiting' && !options.retryUntil) ? null : (step.retryUntil ?? options.retryUntil ?? null),
    error: storableJson(options.error ?? null),
    has_output: options.output !== undefined,
    output: storableJson(options.output ?? null),
  };
}

/** One event, in a transaction that holds the lease. @throws as `recordStepEvents` */
export function recordStepEvent(
  tx: Transaction,
  step: StepEvent['step'],
  event: FlowEvent,
  options: StepEventOptions,
): Promise<void> {
  return recordStepEvents(tx, [{ step, event, ...options }]);
}

/** What a step has come to so far, told before it has ended; its end may report it again. */
export async function noteOutput(tx: Transaction, stepUuid: string, output: unknown): Promise<void> {
  await tx
    .update(flowSteps)
    .set({ output: storableJson(output) })
    .where(eq(flowSteps.uuid, stepUuid));
}

export type FlowChange = Partial<
  Pick<
    FlowRow,
    | 'state'
    | 'endedAt'
    | 'error'
    | 'held'
    | 'heldSince'
    | 'hardwareManagerVersion'
    | 'onHold'
    | 'abortRequested'
    | 'restarts'
  >
> & {
  /** Milliseconds until a conductor looks again. */
  readonly checkInMs?: number;
};

/** Answers how often the flow has been nudged. */
export async function updateFlow(tx: Queryable, flowUuid: string, change: FlowChange): Promise<number | undefined> {
  const { checkInMs, ...columns } = change;
  // due times are the database's: conductors' clocks may differ
  const due = checkInMs === undefined ? {} : { nextCheckAt: sql`now() + make_interval(secs => ${checkInMs / 1000})` };
  const [row] = await tx
    .update(flows)
    .set({ ...columns, ...due })
    .where(eq(flows.uuid, flowUuid))
    .returning({ nudges: flows.nudges });
  return row?.nudges;
}

/**
 * At start: heartbeats that found nobody home are not repeated at once, so every open flow is looked at again; but for
 * those that another conductor or a heartbeat is writing of at the moment: waiting for them could be a deadlock.
 */
export async function makeOpenFlowsDue(db: Queryable): Promise<void> {
  const open = db
    .select({ uuid: flows.uuid })
    .from(flows)
    .where(and(isNull(flows.endedAt), isNull(flows.onHold)))
    .for('update', { skipLocked: true });
  await db.update(flows).set({ nextCheckAt: sql`now()` }).where(inArray(flows.uuid, open));
}

/** Nodes that a conductor works on whose open flow is due and that nobody holds, oldest first. */
export async function listDueNodes(
  db: Queryable,
  { limit, ...worker }: Parameters<typeof attendedBy>[0] & { readonly limit: number },
): Promise<string[]> {
  const rows = await db
    .select({ nodeUuid: nodes.uuid })
    .from(flows)
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .leftJoin(nodeLeases, eq(nodeLeases.nodeUuid, flows.nodeUuid))
    .where(and(isNull(flows.endedAt), attendedBy(worker), lte(flows.nextCheckAt, sql`now()`), isFree(nodeLeases)))
    .orderBy(flows.nextCheckAt)
    .limit(limit);
  return rows.map((row) => row.nodeUuid);
}

/** Moves the limits of a flow's waiting steps: the time for which it was held was nobody's. */
export async function prolongWaits(tx: Transaction, flowUuid: string, ms: number): Promise<void> {
  const longer = sql`make_interval(secs => ${ms / 1000})`;
  await tx
    .update(flowSteps)
    .set({ waitUntil: sql`${flowSteps.waitUntil} + ${longer}`, retryUntil: sql`${flowSteps.retryUntil} + ${longer}` })
    .where(and(eq(flowSteps.flowUuid, flowUuid), eq(flowSteps.state, 'waiting')));
}
