import { sql } from 'drizzle-orm';
import { bigint, boolean, check, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { instantColumn, sequenceColumn } from '#conductor/kernel/db/schema/columns.ts';
import { remarkColumn } from '#conductor/kernel/db/schema/remark-column.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { ActionClusters } from '#conductor/model/site/action-parameters.ts';
import type { Rollout } from '#conductor/model/site/rollout.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { GroupDefinition, GroupStage, Miss, NodePhase, NodeStatus } from '#conductor/model/site/site-run.ts';

/** Columns that the site's flow (`flows`) has beside a node's: one thing that an operator asks of a whole site. */
export const siteActions = pgTable(
  'site_actions',
  {
    /** ULID: 26 characters, in order of time. */
    id: text().primaryKey(),
    parameters: jsonb().$type<JsonObject>().notNull().default({}),
    /** Number from its strategy; null = it has none, or is not validated yet. */
    maxParallelGroups: integer(),
    /** The revision that it works from; chosen when it is created. */
    revisionId: integer().notNull(),
    contextMarker: text().notNull(),
    allowIntermediateCommits: boolean().notNull().default(false),
    /** Documents and preconditions have passed: from here on a failure is tagged. */
    validated: boolean().notNull().default(false),
    validations: jsonb().$type<SiteFault[]>().notNull().default([]),
    /** Lease of the conductor that runs it, by the database's clock; every record of its work checks the token. */
    holder: text(),
    token: bigint({ mode: 'number' }).notNull().default(0),
    /** Without a holder: when the last one let go. */
    expiresAt: instantColumn(),
    /** The level of knowledge that a conductor needs to run it (`conductor-store.ts`). */
    needs: integer().notNull().default(2),
    /** Lease token of the last claim by a release that checks `needs`. Older releases never set it, so they can't claim such an action. */
    fitToken: bigint({ mode: 'number' }).notNull().default(0),
    /** Which clusters its nodes are taken out of, by the conductor that has validated it; null = it tears nothing down. */
    clusters: jsonb().$type<ActionClusters>(),
  },
  () => [
    check('claimed_by_who_knows', sql`needs = 0 or fit_token = token`),
    // a release that keeps an action's state and steps apart from flows writes less
    check('made_as_flow', sql`needs >= 2`),
  ],
);
export type SiteActionRow = typeof siteActions.$inferSelect;

const ofAction = () =>
  text()
    .notNull()
    .references(() => siteActions.id, { onDelete: 'cascade' });

/** A group of the strategy in an action, with its members as its selectors chose them when the action began. */
export const siteActionGroups = pgTable(
  'site_action_groups',
  {
    actionId: ofAction(),
    /** In an order that its dependencies allow; from 0. */
    position: integer().notNull(),
    name: text().notNull(),
    definition: jsonb().$type<GroupDefinition>().notNull(),
    members: jsonb().$type<string[]>().notNull(),
    stage: text().$type<GroupStage>().notNull().default('not_started'),
    /** Why it failed: `2 of 4 nodes, 50 %; percent_successful_nodes asks for 90 %`, `ntp-node failed`. */
    reason: text(),
    misses: jsonb().$type<Miss[]>().notNull().default([]),
    prepareStartedAt: instantColumn(),
    /** Its criteria were met after prepare. */
    preparedAt: instantColumn(),
    deployStartedAt: instantColumn(),
    endedAt: instantColumn(),
    /** State of a rollout that begins its nodes in parts; null = it does not. */
    rollout: jsonb().$type<Rollout>(),
  },
  (table) => [primaryKey({ columns: [table.actionId, table.name] })],
);
export type SiteActionGroupRow = typeof siteActionGroups.$inferSelect;

export const siteActionNodes = pgTable(
  'site_action_nodes',
  {
    actionId: ofAction(),
    name: text().notNull(),
    status: text().$type<NodeStatus>().notNull().default('not_started'),
    /** It failed in a deploy: its prepare was a success. */
    wasPrepared: boolean().notNull().default(false),
    /** The phase that it is in the middle of; null = none. */
    phase: text().$type<NodePhase>(),
    /** The group that had this phase done. */
    groupName: text(),
    /** The phase is being broken off (timeout, stop), and why: it ends as a failure. */
    cancelling: text(),
    /** Since when: a node that does not come to rest in time is put into maintenance. */
    cancelledAt: instantColumn(),
    /** The work that it does at present: `cleaning: erase_devices 40 %`. */
    doing: remarkColumn(),
    /** Why it failed, or a remark on its success: `it was deployed already`. */
    reason: remarkColumn(),
    /** Time when the phase began, moved later by each pause, so that pauses count for no limit. */
    phaseStartedAt: instantColumn(),
    endedAt: instantColumn(),
  },
  (table) => [primaryKey({ columns: [table.actionId, table.name] })],
);
export type SiteActionNodeRow = typeof siteActionNodes.$inferSelect;

/** Notes of what happened, for people to read afterwards. Append-only. */
export const siteActionNotes = pgTable(
  'site_action_notes',
  {
    id: sequenceColumn().primaryKey(),
    actionId: ofAction(),
    /** Name of the step; null = the action as a whole. */
    step: text(),
    /** A group's or a node's name. */
    subject: text(),
    /** 1 = always shown … 5 = every detail. */
    verbosity: integer().notNull().default(1),
    text: text().notNull(),
    at: instantColumn().notNull().defaultNow(),
  },
  (table) => [index().on(table.actionId, table.id)],
);
export type SiteActionNoteRow = typeof siteActionNotes.$inferSelect;

export const siteActionCommands = pgTable(
  'site_action_commands',
  {
    id: sequenceColumn().primaryKey(),
    actionId: ofAction(),
    command: text().$type<'invoke' | 'pause' | 'unpause' | 'skip' | 'stop'>().notNull(),
    user: text(),
    at: instantColumn().notNull().defaultNow(),
  },
  (table) => [index().on(table.actionId)],
);
