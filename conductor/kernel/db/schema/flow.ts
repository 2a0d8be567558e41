import { sql } from 'drizzle-orm';
import { bigint, boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { instantColumn, sequenceColumn } from '#conductor/kernel/db/schema/columns.ts';
import { ofNode } from '#conductor/kernel/db/schema/node.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type {
  FlowEvent,
  FlowKindName,
  FlowState,
  FlowStepOrigin,
  FlowStepPhase,
  FlowStepState,
  WipeRequest,
} from '#conductor/model/flows/flow-states.ts';
import type { PluginTaskRef, RequestedStep } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { ActionName } from '#conductor/model/site/action-parameters.ts';
import type { Fault } from '#shared/errors/fault-codes.ts';
import type { Progress } from '#shared/wire/progress.ts';

/** One run of a kind of steps on its subject: a node, or the site. One of a subject is open at a time. */
export const flows = pgTable(
  'flows',
  {
    uuid: uuid().primaryKey(),
    /** null = its subject is the site. */
    nodeUuid: ofNode(),
    /** The site action, in the flow of a site, where a node's flow has its node. */
    siteActionId: text()
      .unique()
      .references(() => siteActions.id, { onDelete: 'cascade' }),
    kind: text().$type<FlowKindName | ActionName>().notNull(),
    state: text().$type<FlowState>().notNull(),
    requestedBy: text(),
    /** Id of the request that has started it, or what it follows; null = none, or started by an older release. */
    requestId: text(),
    /** The id that the request's client has sent along for all that it does together. */
    globalRequestId: text(),
    /** The site action that wants it: after a crash its runner knows its own work by it. */
    actionId: text(),
    /** The operator's own steps; needed again when the agent's list is known. */
    requestedSteps: jsonb().$type<RequestedStep[]>().notNull().default([]),
    /** Versions of the agent's hardware managers at the first heartbeat; sent back with each in-band step. */
    hardwareManagerVersion: jsonb().$type<Record<string, string>>(),
    /** The plan that the operator has read and asked for; the flow fails before it touches anything if it is another. */
    planHash: text(),
    /** The wipe that the release of the instance ends with, or that this flow is. */
    wipe: jsonb().$type<WipeRequest>(),
    /** How often cleaning has restarted because the ramdisk had become another. */
    restarts: integer().notNull().default(0),
    /** Why the operator or a `hold` step has it rest; goes on with `unhold`. */
    onHold: text(),
    /** The operator has said abort while a step ran that may not be interrupted: it ends after that step. */
    abortRequested: text(),
    startedAt: instantColumn().notNull().defaultNow(),
    endedAt: instantColumn(),
    error: text(),
    /** Why nobody works on it although it is due: `node is in maintenance`. Of the site: why nothing new is begun. */
    held: text(),
    /** Since when; that time counts for no limit. */
    heldSince: instantColumn(),
    /** An OpenTelemetry collector has taken it; null = none has, or none is wanted. */
    isTraced: boolean(),
    /** When a conductor should look at it again. */
    nextCheckAt: instantColumn().notNull().defaultNow(),
    /** Grows with each heartbeat and request: a nudge that comes while a conductor works on the flow is not lost. */
    nudges: bigint({ mode: 'number' }).notNull().default(0),
  },
  (table) => [
    check('flow_has_one_subject', sql`(node_uuid is null) <> (site_action_id is null)`),
    // one that changes the site, and beside it one that only looks at it
    uniqueIndex('one_open_site_flow')
      .on(sql`(kind = 'verify_site')`)
      .where(sql`ended_at is null and site_action_id is not null`),
    uniqueIndex('one_open_flow_per_node').on(table.nodeUuid).where(sql`ended_at is null`),
    // only for statements that ask for a time: where few flows were open when PostgreSQL counted them, it would read all
    // of this index to find one node's
    index('flows_to_check').on(table.nextCheckAt).where(sql`ended_at is null and next_check_at is not null`),
    index().on(table.nodeUuid),
    index('failed_flows').on(table.nodeUuid).where(sql`state in ('failed', 'aborted') and ended_at is not null`),
    index('flows_to_trace').on(table.endedAt).where(sql`is_traced is null and ended_at is not null`),
    index().on(table.actionId).where(sql`action_id is not null`),
  ],
);
/** Columns that a node's flow has for certain, for statements that read no other. */
export const nodeFlow = { nodeUuid: sql<string>`${flows.nodeUuid}`, kind: sql<FlowKindName>`${flows.kind}` };
/** A node's. */
export type FlowRow = Omit<typeof flows.$inferSelect, 'nodeUuid' | 'kind'> & {
  readonly nodeUuid: string;
  readonly kind: FlowKindName;
};

/** A fault as a step's row has it: with what the step was when it was recorded. */
export interface StoredFault extends Fault {
  /**
   * State and a hash of the words: a conductor of an older release moves the step on and leaves the fault as it is, which
   * then is another's.
   */
  readonly of?: string | undefined;
}

export const flowSteps = pgTable(
  'flow_steps',
  {
    uuid: uuid().primaryKey(),
    flowUuid: uuid()
      .notNull()
      .references(() => flows.uuid, { onDelete: 'cascade' }),
    phase: text().$type<FlowStepPhase>().notNull(),
    position: integer().notNull(),
    interface: text().notNull(),
    step: text().notNull(),
    args: jsonb().$type<JsonObject>().notNull().default({}),
    priority: integer().notNull(),
    origin: text().$type<FlowStepOrigin>().notNull(),
    /** Why it stands where it does, as the plan says it: `template CUSTOM_RAID1 gives it priority 90`. */
    reason: text().notNull().default(''),
    /** The plugin task that it is, `ntp`: what operators read in place of the step's name. */
    plugin: jsonb().$type<PluginTaskRef>(),
    /** Run by the agent; else by the conductor. */
    inBand: boolean().notNull(),
    abortable: boolean().notNull().default(false),
    rebootRequested: boolean().notNull().default(false),
    state: text().$type<FlowStepState>().notNull().default('pending'),
    startedAt: instantColumn(),
    endedAt: instantColumn(),
    waitingFor: text(),
    /** When what is awaited must have come; set by the first wait, and not prolonged by looking again. */
    waitUntil: instantColumn(),
    /** While waiting: after a passing fault the step is run again, not only asked about. */
    runAgain: boolean().notNull().default(false),
    /** When a passing fault is given up on; cleared by the first success after it. */
    retryUntil: instantColumn(),
    progress: jsonb().$type<Progress>(),
    output: jsonb(),
    error: text(),
    /** Code of what it failed by, or waits for; null = neither, or recorded by an older release. */
    fault: jsonb().$type<StoredFault>(),
  },
  (table) => [
    index().on(table.flowUuid, table.position),
    // how long a step takes is estimated from its last runs
    index().on(table.interface, table.step, table.endedAt),
  ],
);
export type FlowStepRow = typeof flowSteps.$inferSelect;
export type FlowStepInsert = typeof flowSteps.$inferInsert;

/** The intent log: `started` is committed before acting, the end after. Append-only. */
export const flowEvents = pgTable(
  'flow_events',
  {
    id: sequenceColumn().primaryKey(),
    /** The step's, which goes with its flow: a reference of its own would be looked up for each event. */
    flowUuid: uuid().notNull(),
    stepUuid: uuid()
      .notNull()
      .references(() => flowSteps.uuid, { onDelete: 'cascade' }),
    event: text().$type<FlowEvent>().notNull(),
    at: instantColumn().notNull().defaultNow(),
    detail: text(),
    conductor: text().notNull(),
  },
  // steps are deleted when a plan is made again: without the second, each would read all events there are
  (table) => [index().on(table.flowUuid), index().on(table.stepUuid)],
);
