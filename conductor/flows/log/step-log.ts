import { type SQL, sql } from 'drizzle-orm';
import { workVersion } from '#conductor/flows/log/read-work.ts';
import { storedFault } from '#conductor/flows/log/step-fault.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { statement, storableJson, type Value } from '#conductor/kernel/db/query/statement.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { HeldValues } from '#conductor/kernel/lease.ts';
import { type FlowEvent, stateAfter } from '#conductor/model/flows/flow-states.ts';
import { isHeldBy, type Lease, leaseValues } from '#conductor/nodes/node-lease.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Fault } from '#shared/errors/fault-codes.ts';

export interface StepEventOptions {
  readonly conductor: string;
  readonly now: Date;
  readonly error?: string;
  /** Code of what it failed by, or waits for, and its subject. */
  readonly fault?: Fault;
  readonly output?: unknown;
  readonly waitingFor?: string;
  /** A wait for something to come; none = without limit. */
  readonly waitUntil?: Date;
  /** A passing fault: the step is run again until then. */
  readonly retryUntil?: Date;
}

/** An entry that is appended to the intent log, and the step as it was when that was decided. */
export interface StepEvent extends StepEventOptions {
  readonly step: Pick<FlowStepRow, 'uuid' | 'flowUuid' | 'state' | 'startedAt' | 'waitUntil' | 'retryUntil'>;
  readonly event: FlowEvent;
}

/**
 * The only writer of step states: appends to the intent log and keeps the steps' rows in line with it, all of them or
 * none.
 * @param lease of the node that the flow is of: where it is given nothing else fences the record, and no transaction is
 * needed
 * @returns with a lease, what `NodeWork.version` is at that moment
 * @throws AppError `lease_lost` when a step has left `step.state` meanwhile, or the lease is lost: somebody else has moved
 * it on.
 */
export async function recordStepEvents(
  db: Queryable,
  events: readonly StepEvent[],
  lease?: Lease,
): Promise<string | undefined> {
  const rows = events.map(eventRow);
  const few = recordFew[events.length];
  const values = few ? valuesOf(rows) : { recorded: JSON.stringify(rows) };
  const { fenced, unfenced } = few ?? recordMany;
  const written = await (lease ? fenced(db, { ...values, ...leaseValues(lease) }) : unfenced(db, values));
  if (written.length === events.length) return lease && String(written[0]?.[0]);
  const steps = events.map(({ step }) => step.uuid).join(', ');
  throw new AppError('lease_lost', `step ${steps} was changed by another process`);
}

type Values = Readonly<Record<string, unknown>>;
const record = (events: SQL, held: SQL, areAllThere: SQL, answer: SQL): SQL => sql`
  with held as materialized (${held}),
  event (${eventColumns}) as materialized (${events}),
  moved as (
    update flow_steps set state = event.state, started_at = coalesce(flow_steps.started_at, event.started_at),
      ended_at = event.ended_at,
      waiting_for = event.waiting_for, wait_until = event.wait_until, run_again = event.run_again,
      retry_until = event.retry_until, fault = event.fault, error = coalesce(event.error, flow_steps.error),
      output = case when event.has_output then event.output else flow_steps.output end
    from event, held where flow_steps.uuid = event.step_uuid and flow_steps.state = event.state_before ${areAllThere}
    returning flow_steps.uuid
  )
  insert into flow_events (flow_uuid, step_uuid, event, at, detail, conductor)
  select flow_uuid, step_uuid, event, at, detail, conductor from event join moved on moved.uuid = event.step_uuid
  order by place returning ${answer}`;
const version = sql`(
  select ${workVersion} from flows join nodes on nodes.uuid = flows.node_uuid
    left join agent_sessions on agent_sessions.node_uuid = nodes.uuid
  where flows.uuid = flow_events.flow_uuid)`;
const allThere = sql`and (select count(*) from event) = (
  select count(*) from flow_steps step join event each on step.uuid = each.step_uuid and step.state = each.state_before)`;
const recordStatements = (events: (value: Value<Values>) => SQL, areAllThere: SQL) => ({
  fenced: statement<Values & HeldValues>((value) => {
    const held = sql`select true from node_leases where ${isHeldBy(value as Value<HeldValues>)} for update`;
    return record(events(value), held, areAllThere, version);
  }),
  unfenced: statement<Values>((value) => record(events(value), sql`select true`, areAllThere, sql`id`)),
});

const columnTypes = {
  place: 'int',
  flow_uuid: 'uuid',
  step_uuid: 'uuid',
  event: 'text',
  at: 'timestamptz',
  detail: 'text',
  conductor: 'text',
  state_before: 'text',
  state: 'text',
  started_at: 'timestamptz',
  ended_at: 'timestamptz',
  waiting_for: 'text',
  wait_until: 'timestamptz',
  run_again: 'boolean',
  retry_until: 'timestamptz',
  error: 'text',
  fault: 'jsonb',
  has_output: 'boolean',
  output: 'jsonb',
} as const;
const columns = Object.entries(columnTypes) as [keyof typeof columnTypes, string][];
const eventColumns = sql.raw(Object.keys(columnTypes).join(', '));
type EventRow = Readonly<Record<keyof typeof columnTypes, unknown>>;

/** By how many there are: they cost half of what those in a document of JSON do. */
const recordFew = [
  undefined,
  ...[1, 2, 3, 4].map((count) => recordStatements(listed(count), count > 1 ? allThere : sql``)),
];
const recordMany = recordStatements(
  (value) =>
    sql`select * from jsonb_to_recordset(${value('recorded')}::text::jsonb) as (${sql.raw(
      columns.map(([column, type]) => `${column} ${type}`).join(', '),
    )})`,
  allThere,
);

function listed(count: number): (value: Value<Values>) => SQL {
  const places = Array.from({ length: count }, (_, place) => place);
  return (value) => {
    const rowOf = (place: number): SQL =>
      sql.join(
        columns.map(([column, type]) => sql`${value(`${column}${place}`)}::${sql.raw(type)}`),
        sql`, `,
      );
    return sql`values ${sql.join(
      places.map((place) => sql`(${rowOf(place)})`),
      sql`, `,
    )}`;
  };
}

/** Reads the values that `listed` names. */
function valuesOf(rows: readonly EventRow[]): Values {
  const values: Record<string, unknown> = {};
  for (const [place, row] of rows.entries()) {
    for (const [column, type] of columns) {
      const value = row[column];
      const isJson = type === 'jsonb' && value !== null;
      values[`${column}${place}`] = isJson
        ? JSON.stringify(value)
        : value instanceof Date
          ? value.toISOString()
          : value;
    }
  }
  return values;
}

function eventRow({ step, event, ...options }: StepEvent, place: number): EventRow {
  const state = stateAfter(step.state, event);
  const [waitingFor, error] = [event === 'waiting' ? (options.waitingFor ?? null) : null, options.error ?? null];
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
    state,
    started_at: step.startedAt ?? (event === 'started' ? options.now : null),
    ended_at: ended ? options.now : null,
    waiting_for: storableJson(waitingFor),
    wait_until: ended ? null : (step.waitUntil ?? options.waitUntil ?? null),
    run_again: options.retryUntil !== undefined,
    retry_until:
      ended || (event === 'waiting' && !options.retryUntil) ? null : (step.retryUntil ?? options.retryUntil ?? null),
    error: storableJson(error),
    fault: options.fault ? storedFault(options.fault, { state, waitingFor, error }) : null,
    has_output: options.output !== undefined,
    output: storableJson(options.output ?? null),
  };
}

/** One event, in a transaction that holds the lease. @throws as `recordStepEvents` */
export async function recordStepEvent(
  tx: Transaction,
  step: StepEvent['step'],
  event: FlowEvent,
  options: StepEventOptions,
): Promise<void> {
  await recordStepEvents(tx, [{ step, event, ...options }]);
}
