import { randomUUID } from 'node:crypto';
import { and, desc, eq, inArray, isNull, lt, lte, or, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/rows-of.ts';
import { type FlowRow, type FlowStepRow, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { storableJson } from '#conductor/kernel/db/storable-json.ts';
import { tableReader } from '#conductor/kernel/db/table-reader.ts';
import { tellWebhooks } from '#conductor/kernel/outbox.ts';
import { type FlowEvent, type FlowStepPhase, stateAfter } from '#conductor/model/flow-log.ts';
import type { FlowKindName, WipeWish } from '#conductor/model/flow-states.ts';
import type { PlannedStep, RequestedStep } from '#conductor/model/planned-step.ts';
import { attendedBy } from '#conductor/nodes/node-lease.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The node's flow that has not ended; there is at most one. */
export async function findOpenFlow(db: Queryable, nodeUuid: string): Promise<FlowRow | undefined> {
  const [row] = await db
    .select()
    .from(flows)
    .where(and(eq(flows.nodeUuid, nodeUuid), isNull(flows.endedAt)));
  return row;
}

export async function findLatestFlow(db: Queryable, nodeUuid: string): Promise<FlowRow | undefined> {
  const [row] = await db
    .select()
    .from(flows)
    .where(eq(flows.nodeUuid, nodeUuid))
    .orderBy(sql`${flows.endedAt} is not null`, desc(flows.startedAt))
    .limit(1);
  return row;
}

const stepReader = tableReader(flowSteps, 'uuid');
const selectSteps = sql.raw(`SELECT ${stepReader.selected} FROM flow_steps WHERE flow_uuid =`);

/** A flow's steps in the order in which they run. */
export async function listSteps(db: Queryable, flowUuid: string): Promise<FlowStepRow[]> {
  const rows = rowsOf(await db.execute(sql`${selectSteps} ${flowUuid} ORDER BY position`));
  return (rows as Record<string, unknown>[]).map((row) => stepReader.read(row));
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
    readonly wipe?: WipeWish | undefined;
    readonly steps: readonly PlannedStep[];
  },
): Promise<string> {
  const uuid = randomUUID();
  await tx.insert(flows).values({
    uuid,
    nodeUuid: flow.nodeUuid,
    kind: flow.kind,
    state: 'running',
    requestedBy: flow.requestedBy ?? null,
    actionId: flow.actionId ?? null,
    requestedSteps: flow.requestedSteps ?? [],
    planHash: flow.planHash ?? null,
    wipe: flow.wipe ?? null,
  });
  await insertSteps(tx, { flowUuid: uuid, phase: 'main', from: 1, steps: flow.steps });
  await tellWebhooks(tx, flow.nodeUuid, { type: 'node.flow_started', data: { flow: uuid, kind: flow.kind } });
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

/**
 * The only writer of step states: appends to the intent log and keeps the step's row in line with it.
 * @throws AppError `lease_lost` when the step has left `step.state` meanwhile: somebody else has moved it on.
 */
export async function recordStepEvent(
  tx: Transaction,
  step: Pick<FlowStepRow, 'uuid' | 'flowUuid' | 'state' | 'startedAt' | 'waitUntil' | 'retryUntil'>,
  event: FlowEvent,
  options: StepEventOptions,
): Promise<void> {
  const state = stateAfter(step.state, event);
  const ended = event === 'succeeded' || event === 'failed' || event === 'skipped';
  const startedAt = step.startedAt ?? (event === 'started' ? options.now : null);
  const waitUntil = ended ? null : (step.waitUntil ?? options.waitUntil ?? null);
  const retryUntil =
    ended || (event === 'waiting' && !options.retryUntil) ? null : (step.retryUntil ?? options.retryUntil ?? null);
  const error = options.error === undefined ? sql`` : sql`, error = ${options.error}`;
  const stored = storableJson(options.output ?? null);
  const output =
    options.output === undefined
      ? sql``
      : sql`, output = ${stored === null ? null : JSON.stringify(stored)}::text::jsonb`;
  // one statement, for there are three of them to every step
  const answer = await tx.execute(sql`
    WITH logged AS (
      INSERT INTO flow_events (flow_uuid, step_uuid, event, at, detail, conductor)
      VALUES (${step.flowUuid}, ${step.uuid}, ${event}, ${options.now.toISOString()}::timestamptz,
        ${options.error ?? options.waitingFor ?? null}, ${options.conductor})
    )
    UPDATE flow_steps SET state = ${state}, started_at = ${time(startedAt)}, ended_at = ${time(ended ? options.now : null)},
      waiting_for = ${event === 'waiting' ? (options.waitingFor ?? null) : null}, wait_until = ${time(waitUntil)},
      run_again = ${options.retryUntil !== undefined}, retry_until = ${time(retryUntil)}${error}${output}
    WHERE uuid = ${step.uuid} AND state = ${step.state}
    RETURNING uuid`);
  const rows = rowsOf(answer) as unknown[];
  if (rows.length === 0) throw new AppError('lease_lost', `step ${step.uuid} was moved on by somebody else`);
}

/** What a step has come to so far, told before it has ended; its end may tell it anew. */
export async function noteOutput(tx: Transaction, stepUuid: string, output: unknown): Promise<void> {
  await tx
    .update(flowSteps)
    .set({ output: storableJson(output) })
    .where(eq(flowSteps.uuid, stepUuid));
}

function time(at: Date | null) {
  return sql`${at?.toISOString() ?? null}::timestamptz`;
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
 * At start: heartbeats that found nobody home are not repeated at once, so every open flow is looked at anew; but for
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
    .select({ nodeUuid: flows.nodeUuid })
    .from(flows)
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .leftJoin(nodeLeases, eq(nodeLeases.nodeUuid, flows.nodeUuid))
    .where(
      and(
        isNull(flows.endedAt),
        attendedBy(worker),
        lte(flows.nextCheckAt, sql`now()`),
        or(isNull(nodeLeases.holder), lt(nodeLeases.expiresAt, sql`now()`)),
      ),
    )
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
