import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type FlowSummaryView, flowStatuses } from '#conductor/api/flows.ts';
import { currentFault } from '#conductor/flows/log/step-fault.ts';
import { knownFault, patienceMs } from '#conductor/flows/watch/advice.ts';
import { conductorOfNode, whyUnattended } from '#conductor/kernel/conductors/node-conductor.ts';
import type { KernelContext } from '#conductor/kernel/context.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import type { StoredFault } from '#conductor/kernel/db/schema/flow.ts';
import { flowKinds, restsIn } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowStepState } from '#conductor/model/flows/flow-states.ts';
import { type PluginTaskRef, stepTitle, whyNotSkipped } from '#conductor/model/flows/planned-step.ts';
import { stalledDownload, stillSeconds } from '#conductor/model/stalled-download.ts';
import type { Fault } from '#shared/errors/fault-codes.ts';

export interface FlowFilter {
  readonly statuses?: readonly FlowSummaryView['status'][] | undefined;
  readonly kinds?: readonly string[] | undefined;
  /** The project that owns the flows' nodes. */
  readonly owner?: string | undefined;
}

const moment = z.coerce.date();
const Row = z.object({
  uuid: z.string(),
  kind: z.string(),
  state: z.string(),
  status: z.enum(flowStatuses),
  node_uuid: z.string(),
  name: z.string().nullable(),
  driver: z.string(),
  conductor_group: z.string(),
  provision_state: z.string(),
  conductor: z.string().nullable(),
  requested_by: z.string().nullable(),
  request_id: z.string().nullable(),
  global_request_id: z.string().nullable(),
  started_at: moment,
  ended_at: moment.nullable(),
  held: z.string().nullable(),
  on_hold: z.string().nullable(),
  error: z.string().nullable(),
  next_check_at: moment,
  interface: z.string().nullable(),
  step: z.string().nullable(),
  plugin: z.custom<PluginTaskRef | null>(),
  step_uuid: z.string().nullable(),
  step_state: z.custom<FlowStepState | null>(),
  phase: z.string().nullable(),
  origin: z.string().nullable(),
  in_band: z.boolean().nullable(),
  run_again: z.boolean().nullable(),
  settles: z.boolean(),
  step_started_at: moment.nullable(),
  waiting_for: z.string().nullable(),
  fault: z.custom<StoredFault | null>(),
  step_error: z.string().nullable(),
  until: moment.nullable(),
  progress: z.unknown(),
  attempt: z.number(),
  retried_after: z.string().nullable(),
  refused: z.string().nullable(),
});
type Row = z.infer<typeof Row>;

/** Where each kind leaves a node that it failed on: such a flow counts as long as the node rests there. */
const rests = Object.entries(flowKinds).flatMap(([kind, definition]) => {
  const state = restsIn(definition);
  return state === undefined ? [] : [{ kind, state }];
});

/**
 * One page of the flows that count now, the oldest first: of each node the open one, or the last one where it failed and
 * the node rests in that failure. One statement, whose cost grows with those and with the failures that are kept.
 */
export async function listFlows(
  {
    db,
    config,
    conductors,
  }: Pick<KernelContext, 'db' | 'conductors'> & { readonly config: { conductorTimeoutMs: number } },
  { statuses, kinds, owner }: FlowFilter,
  page: { readonly limit: number; readonly marker: string | undefined },
): Promise<FlowSummaryView[]> {
  const where = [
    statuses && sql`status = any(${list(statuses)})`,
    kinds && sql`kind = any(${list(kinds)})`,
    page.marker === undefined
      ? undefined
      : sql`(started_at, uuid) > (select started_at, uuid from flows where uuid = ${page.marker})`,
  ].filter((condition) => condition !== undefined);
  const answer = await db.execute(sql`
    with counting as (
      select flows.* from flows where ended_at is null
      union all
      select latest.* from nodes cross join lateral (
        select * from flows where node_uuid = nodes.uuid order by ended_at is not null, started_at desc limit 1
      ) latest
      where nodes.uuid in (select node_uuid from flows where state in ('failed', 'aborted') and ended_at is not null)
        and nodes.provision_state = any(${list([...new Set(rests.map(({ state }) => state))])}) and latest.ended_at is not null and latest.state in ('failed', 'aborted') and (latest.kind, nodes.provision_state) in (
        select * from unnest(${list(rests.map(({ kind }) => kind))}, ${list(rests.map(({ state }) => state))})
      )
    ),
    -- once: what the status is derived from costs most of it
    described as materialized (
      select counting.uuid, counting.kind, counting.state, counting.node_uuid, counting.requested_by, counting.request_id, counting.global_request_id, counting.started_at,
        counting.ended_at, counting.held, counting.on_hold, counting.error, counting.next_check_at,
        nodes.name, nodes.driver, nodes.conductor_group, nodes.provision_state, ${conductorOfNode(config.conductorTimeoutMs)} as conductor,
        step.uuid as step_uuid, step.interface, step.step, step.plugin, step.phase, step.origin, step.in_band, step.started_at as step_started_at, step.waiting_for, step.fault, step.error as step_error,
        -- a BIOS step has left its reset to it
        (step.interface in ('raid', 'firmware') and exists (
          select 1 from flow_steps bios where bios.flow_uuid = counting.uuid and bios.interface = 'bios' and bios.state = 'succeeded'
            and bios.output->>'left_to' is not null and bios.output->>'asked' <> 'held'
        )) is true as settles,
        -- the last that was seen of the boot that it waits for
        case when step.state = 'waiting' and step.fault->>'code' = 'ramdisk_silent' then (
          select case when event = 'refused' then coalesce(detail, '') end from node_boot_events
          where node_uuid = counting.node_uuid and at >= step.started_at order by id desc limit 1
        ) end as refused,
        step.progress, step.run_again, step.state as step_state,
        case when step.run_again or step.state = 'running' then step.retry_until else step.wait_until end as until,
        (step.run_again and step.state = 'waiting') or (step.state = 'running' and step.retry_until is not null)
          or (step.state = 'waiting' and step.progress ? 'last_error') is true as is_retried
      from counting join nodes on nodes.uuid = counting.node_uuid
      left join lateral (
        select * from flow_steps where flow_uuid = counting.uuid
          and phase = case when counting.state in ('failing', 'aborting') then 'cleanup' else 'main' end
          and case when counting.ended_at is null then state in ('pending', 'running', 'waiting') else state = 'failed' end
        order by position limit 1
      ) step on true
      ${owner === undefined ? sql`` : sql`where nodes.owner = ${owner}`}
    ),
    judged as (select *, ${status} as status from described)
    select judged.*,
      case when step_state = 'running' and is_retried then (
        select detail from flow_events where step_uuid = judged.step_uuid and event = 'waiting' order by id desc limit 1
      ) end as retried_after,
      (select count(*)::int from flow_events where step_uuid = judged.step_uuid and event = 'started') as attempt
    from judged ${where.length === 0 ? sql`` : sql`where ${sql.join(where, sql` and `)}`}
    order by started_at, uuid limit ${page.limit}`);
  return z
    .array(Row)
    .parse(rowsOf(answer))
    .map((row) => viewFlow(row, { conductors }));
}

const list = (texts: readonly string[]): SQL =>
  sql`array[${sql.join(
    texts.map((text) => sql`${text}`),
    sql`, `,
  )}]::text[]`;

const patience = sql`make_interval(secs => ${patienceMs / 1000})`;
/** Status by which advice is given (`advice.ts`). */
const status = sql`case
  when ended_at is not null then 'failed'
  when held is not null or on_hold is not null or conductor is null then 'held'
  when is_retried then 'retrying'
  when step_state = 'waiting' and (progress->>'still_seconds')::int >= ${stillSeconds} then 'slow'
  when refused is not null or (step_state = 'waiting' and fault->>'code' in ('agent_silent', 'power_switched')) then 'slow'
  when step_state = 'waiting' and now() - step_started_at > least(${patience}, (until - step_started_at) / 2) then 'slow'
  when step_state = 'running' and waiting_for is not null and fault->>'code' = 'bmc_silent' then 'slow'
  when step_state = 'waiting' then 'waiting'
  else 'working' end`;

function viewFlow(row: Row, context: Pick<KernelContext, 'conductors'>): FlowSummaryView {
  const { interface: stepInterface, step, plugin } = row;
  const isRetrying = row.status === 'retrying';
  const stalled = row.ended_at === null && row.step_state === 'waiting' ? stalledDownload(row.progress) : undefined;
  const fault = row.status === 'held' ? null : (stalled?.fault ?? faultOfRow(row));
  const held = row.held ?? row.on_hold ?? whyUnattended(context, { ...row, conductorGroup: row.conductor_group });
  return {
    uuid: row.uuid,
    kind: row.kind,
    state: row.state,
    status: row.status,
    node_uuid: row.node_uuid,
    node_name: row.name,
    provision_state: row.provision_state,
    conductor: row.conductor,
    requested_by: row.requested_by,
    request_id: row.request_id,
    global_request_id: row.global_request_id,
    started_at: row.started_at.toISOString(),
    ended_at: row.ended_at?.toISOString() ?? null,
    step: stepInterface === null || step === null ? null : stepTitle({ interface: stepInterface, step, plugin }),
    step_uuid: row.step_uuid,
    may_skip: maySkip(row),
    since: (row.ended_at ?? row.step_started_at ?? row.started_at).toISOString(),
    until: row.ended_at ? null : (row.until?.toISOString() ?? null),
    reason:
      row.status === 'failed'
        ? row.error
        : row.status === 'held'
          ? (held ?? null)
          : (row.retried_after ?? stalled?.reason ?? describeRefused(row.refused) ?? row.waiting_for),
    code: fault === null ? null : knownFault(fault).code,
    subject: fault?.subject ?? null,
    attempt: stalled?.isRetried ? stalled.tries + 1 : row.attempt,
    next_attempt_at:
      isRetrying && row.step_state === 'waiting' && row.run_again === true ? row.next_check_at.toISOString() : null,
    progress: row.progress,
  };
}

function describeRefused(refused: string | null): string | undefined {
  return refused === null ? undefined : `the conductor refuses the machine: ${refused}`;
}

function faultOfRow({ step_state: state, waiting_for: waitingFor, step_error: error, fault }: Row): Fault | null {
  return state === null ? null : currentFault({ state, waitingFor, error, fault });
}

function maySkip({ step, phase, origin, step_state: state, in_band: inBand, run_again: runAgain, ...row }: Row) {
  if (row.ended_at !== null || row.settles || step === null || phase === null || origin === null || state === null)
    return false;
  return (
    whyNotSkipped({ step, phase, origin, state, inBand: inBand === true, runAgain: runAgain === true }) === undefined
  );
}
