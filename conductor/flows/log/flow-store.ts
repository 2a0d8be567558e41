import { randomUUID } from 'node:crypto';
import { and, desc, eq, getTableColumns, isNull, lte, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import { rowsOf, type Statement, statement, storableJson } from '#conductor/kernel/db/query/statement.ts';
import { type TableReader, tableReader } from '#conductor/kernel/db/query/table-reader.ts';
import { tableWriter } from '#conductor/kernel/db/query/table-writer.ts';
import { type FlowRow, type FlowStepRow, flowSteps, flows, nodeFlow } from '#conductor/kernel/db/schema/flow.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { isFree } from '#conductor/kernel/lease.ts';
import type { FlowKindName, FlowStepPhase, WipeRequest } from '#conductor/model/flows/flow-states.ts';
import type { PlannedStep, RequestedStep } from '#conductor/model/flows/planned-step.ts';
import { type OfRequest, requestIdsOf } from '#conductor/model/request-ids.ts';
import type { ActionName } from '#conductor/model/site/action-parameters.ts';
import { type ActionStepName, actionTable } from '#conductor/model/site/action-table.ts';
import { notifyWebhooks } from '#conductor/nodes/node-history.ts';
import { attendedBy } from '#conductor/nodes/node-lease.ts';

/** For statements that read flows of nodes only. */
export const flowReader = tableReader(flows, 'uuid') as TableReader<FlowRow>;
const openFlow = statement<{ nodeUuid: string }, FlowRow>(
  (value) =>
    sql`SELECT ${sql.raw(flowReader.selected)} FROM flows WHERE ended_at IS NULL AND node_uuid = ${value('nodeUuid')}`,
  (raw) => flowReader.read(raw),
);

/** Finds the node's flow that has not ended; there is at most one. */
export async function findOpenFlow(db: Queryable, nodeUuid: string): Promise<FlowRow | undefined> {
  const [row] = await openFlow(db, { nodeUuid });
  return row;
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
const selectSteps = (flow: (uuid: Placeholder) => SQL): Statement<{ uuid: string }, FlowStepRow> =>
  statement(
    (value) =>
      sql`SELECT ${sql.raw(stepReader.selected)} FROM flow_steps WHERE flow_uuid = ${flow(value('uuid'))} ORDER BY position`,
    (raw) => stepReader.read(raw),
  );
const stepsOfFlow = selectSteps((uuid) => sql`${uuid}`);
const stepsOfNode = selectSteps((uuid) => sql`(SELECT uuid FROM flows WHERE ended_at IS NULL AND node_uuid = ${uuid})`);

/** Lists a flow's steps in the order in which they run. */
export function listSteps(db: Queryable, flowUuid: string): Promise<FlowStepRow[]> {
  return stepsOfFlow(db, { uuid: flowUuid });
}

/** Returns the flow's steps as they are now. @throws AppError `database_error` */
export function stepsOf({ ask, db, flow }: Pick<StepContext, 'ask' | 'db' | 'flow'>): Promise<readonly FlowStepRow[]> {
  return ask(listSteps(db, flow.uuid));
}

export async function hasSucceeded(context: StepContext, name: string): Promise<boolean> {
  return (await stepsOf(context)).some(({ step, state }) => step === name && state === 'succeeded');
}

/** The same of the node's flow that has not ended. */
export function listOpenSteps(db: Queryable, nodeUuid: string): Promise<FlowStepRow[]> {
  return stepsOfNode(db, { uuid: nodeUuid });
}

const flowWriter = tableWriter<typeof flows, { readonly checkInMs: number }>(flows, {
  primaryKey: 'uuid',
  // due times are the database's: conductors' clocks may differ
  computed: { checkInMs: (value) => sql`next_check_at = now() + make_interval(secs => ${value}::float8 / 1000)` },
  returning: sql`nudges`,
});
const stepWriter = tableWriter(flowSteps, { primaryKey: 'uuid' });

export async function insertFlow(
  tx: Transaction,
  flow: {
    readonly nodeUuid: string;
    readonly kind: FlowKindName;
    readonly requestedBy?: string | undefined;
    readonly actionId?: string | undefined;
    readonly requestedSteps?: RequestedStep[];
    /** Hash of a plan that was complete when it was read. */
    readonly planHash?: string | undefined;
    readonly wipe?: WipeRequest | undefined;
    readonly steps: readonly PlannedStep[];
  } & OfRequest,
): Promise<string> {
  const uuid = randomUUID();
  const row: typeof flows.$inferInsert = {
    uuid,
    nodeUuid: flow.nodeUuid,
    kind: flow.kind,
    state: 'running',
    requestedBy: flow.requestedBy ?? null,
    ...requestIdsOf(flow),
    actionId: flow.actionId ?? null,
    requestedSteps: flow.requestedSteps ?? [],
    planHash: flow.planHash ?? null,
    wipe: flow.wipe ?? null,
  };
  await allTogether([
    flowWriter.insert(tx, [row]),
    insertSteps(tx, { flowUuid: uuid, phase: 'main', from: 1, steps: flow.steps }),
    notifyWebhooks(tx, flow.nodeUuid, { type: 'node.flow_started', data: { flow: uuid, kind: flow.kind } }, flow),
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
  const rows = options.steps.map((step, index): typeof flowSteps.$inferInsert => ({
    uuid: randomUUID(),
    flowUuid: options.flowUuid,
    phase: options.phase,
    position: options.from + index,
    plugin: null,
    ...step,
  }));
  await stepWriter.insert(tx, rows);
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

/** Notes what a step has come to so far, reported before it has ended; its end may report it again. */
export async function noteOutput(tx: Transaction, stepUuid: string, output: unknown): Promise<void> {
  await stepWriter.update(tx, stepUuid, { output: storableJson(output) });
}

/** Adds keys to what a step has noted so far. */
export async function addToOutput(
  tx: Transaction,
  stepUuid: string,
  more: Readonly<Record<string, unknown>>,
): Promise<void> {
  const noted = sql`case jsonb_typeof(output) when 'object' then output else '{}' end`;
  await tx
    .update(flowSteps)
    .set({ output: sql`${noted} || ${JSON.stringify(more)}::jsonb` })
    .where(eq(flowSteps.uuid, stepUuid));
}

/** Lets an abort break the step off from now on, without waiting for its end. */
export async function letAbort(tx: Transaction, stepUuid: string): Promise<void> {
  await stepWriter.update(tx, stepUuid, { abortable: true });
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
  const [row] = await flowWriter.update(tx, flowUuid, change);
  return row && Number(row[0]);
}

/**
 * Makes every open flow due at start, since heartbeats that no conductor received are not repeated at once; except flows
 * that another conductor or a heartbeat is writing of at the moment: waiting for them could be a deadlock.
 */
export async function makeOpenFlowsDue(db: Queryable): Promise<void> {
  await db.execute(watchAgain);
}

/**
 * The time in which no conductor looked counts for no limit: what is waited for had nobody to come to. A minute is what a
 * look may be late where all are busy. One statement: of two conductors that start together only one adds it.
 */
const watchAgain = sql`
  WITH open AS (
    SELECT uuid, next_check_at, held FROM flows WHERE ended_at IS NULL AND on_hold IS NULL FOR UPDATE SKIP LOCKED
  ), due AS (UPDATE flows SET next_check_at = now() FROM open WHERE flows.uuid = open.uuid)
  UPDATE flow_steps SET wait_until = wait_until + (now() - open.next_check_at),
    retry_until = retry_until + (now() - open.next_check_at)
  FROM open WHERE open.uuid = flow_uuid AND open.held IS NULL
    AND flow_steps.state = 'waiting' AND open.next_check_at < now() - interval '1 minute'`;

/** Lists nodes, among those that a conductor works on, whose open flow is due and that nobody holds, oldest first. */
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
    // held ones have nothing to be done about them, and after a restore all are held
    .orderBy(sql`${flows.held} is not null`, flows.nextCheckAt)
    .limit(limit);
  return rows.map((row) => row.nodeUuid);
}

/** Moves the limits of a flow's waiting steps: the time for which it was held does not count. */
export async function prolongWaits(tx: Transaction, flowUuid: string, ms: number): Promise<void> {
  const longer = sql`make_interval(secs => ${ms / 1000})`;
  await tx
    .update(flowSteps)
    .set({ waitUntil: sql`${flowSteps.waitUntil} + ${longer}`, retryUntil: sql`${flowSteps.retryUntil} + ${longer}` })
    .where(and(eq(flowSteps.flowUuid, flowUuid), eq(flowSteps.state, 'waiting')));
}

/** Ended flows of a node that are kept, with their steps and events; the history has the rest in a line each. */
const keptFlows = 20;

/** Deletes the ended flows beyond the newest of each node. Few nodes have more at a time: they are found in an index alone. */
export async function pruneFlows(context: Pick<EngineContext, 'db' | 'log'>): Promise<void> {
  const { db } = context;
  const deleted = rowsOf(await db.execute(deleteOldFlows)) as readonly unknown[];
  if (deleted.length > 0) context.log.info({ flows: deleted.length }, 'old flows deleted');
}

export const deleteOldFlows = sql.raw(`
  WITH many AS MATERIALIZED (SELECT node_uuid FROM flows GROUP BY node_uuid HAVING count(*) > ${keptFlows}),
  old AS MATERIALIZED (
    SELECT of_node.uuid FROM many, LATERAL (
      SELECT uuid FROM flows WHERE node_uuid = many.node_uuid AND ended_at IS NOT NULL
      ORDER BY ended_at DESC OFFSET ${keptFlows}
    ) of_node
  )
  DELETE FROM flows WHERE uuid = any(array(SELECT uuid FROM old)) RETURNING uuid`);

/** Inserts the flow of an action that has been inserted before it, with all its steps. */
export async function insertSiteFlow(
  tx: Transaction,
  {
    actionId,
    name,
    user,
    ...ids
  }: { readonly actionId: string; readonly name: ActionName; readonly user: string | null } & OfRequest,
): Promise<void> {
  const flowUuid = randomUUID();
  const row = { uuid: flowUuid, siteActionId: actionId, kind: name, state: 'running' } as const;
  await tx.insert(flows).values({ ...row, requestedBy: user, ...requestIdsOf(ids) });
  const { steps, closing } = actionTable[name];
  await insertSteps(tx, { flowUuid, phase: 'main', from: 1, steps: steps.map(siteStep) });
  await insertSteps(tx, { flowUuid, phase: 'cleanup', from: steps.length + 1, steps: closing.map(siteStep) });
}

function siteStep(step: ActionStepName): PlannedStep {
  const reason = "the action's own step";
  const rest = { args: {}, inBand: false, abortable: false, rebootRequested: false, reason };
  return { interface: 'site', step, priority: 0, origin: 'core', ...rest };
}
