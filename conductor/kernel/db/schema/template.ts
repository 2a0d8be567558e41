import { boolean, integer, jsonb, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core';
import { identityColumns, timeColumns } from '#conductor/kernel/db/schema/columns.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/** Steps that an operator prepares under a trait's name; a node whose instance asks for the trait gets them. */
export const deployTemplates = pgTable('deploy_templates', {
  ...identityColumns(),
  /** A trait: `CUSTOM_RAID1`. */
  name: text().notNull().unique(),
  extra: jsonb().$type<JsonObject>().notNull().default({}),
  ...timeColumns(),
});
export type DeployTemplateRow = typeof deployTemplates.$inferSelect;

export const deployTemplateSteps = pgTable(
  'deploy_template_steps',
  {
    templateUuid: uuid()
      .notNull()
      .references(() => deployTemplates.uuid, { onDelete: 'cascade' }),
    position: integer().notNull(),
    interface: text().notNull(),
    step: text().notNull(),
    args: jsonb().$type<JsonObject>().notNull().default({}),
    priority: integer().notNull(),
  },
  (table) => [
    unique().on(table.templateUuid, table.position),
    unique().on(table.templateUuid, table.interface, table.step),
  ],
);
export type DeployTemplateStepRow = typeof deployTemplateSteps.$inferSelect;

/** Steps of a cleaning or a service, for nodes that have one of its traits. */
export const runbooks = pgTable('runbooks', {
  ...identityColumns(),
  name: text().notNull().unique(),
  description: text(),
  /** Traits of which a node needs one to have it done; none = no node may. */
  traits: jsonb().$type<readonly string[]>().notNull().default([]),
  disableRamdisk: boolean().notNull().default(false),
  /** For every project; it has no owner then. */
  public: boolean().notNull().default(false),
  /** The project that it belongs to; none = for callers without a project. */
  owner: text(),
  extra: jsonb().$type<JsonObject>().notNull().default({}),
  ...timeColumns(),
});
export type RunbookRow = typeof runbooks.$inferSelect;

export const runbookSteps = pgTable(
  'runbook_steps',
  {
    runbookUuid: uuid()
      .notNull()
      .references(() => runbooks.uuid, { onDelete: 'cascade' }),
    position: integer().notNull(),
    interface: text().notNull(),
    step: text().notNull(),
    /** Secrets in it are sealed. */
    args: jsonb().$type<JsonObject>().notNull().default({}),
    order: integer().notNull(),
  },
  (table) => [unique().on(table.runbookUuid, table.position)],
);

/** A condition or an action of a rule, as it was written. */
export interface StoredRuleCall {
  readonly op: string;
  readonly args?: Readonly<Record<string, unknown>> | readonly unknown[] | undefined;
  readonly loop?: Readonly<Record<string, unknown>> | readonly unknown[] | undefined;
  readonly multiple?: string | undefined;
}

/** Rules of the API, which inspections apply beside those of the file. */
export const inspectionRules = pgTable('inspection_rules', {
  ...identityColumns(),
  description: text(),
  priority: integer().notNull().default(0),
  phase: text().notNull().default('main'),
  scope: text(),
  sensitive: boolean().notNull().default(false),
  /** Empty where they are sealed. */
  conditions: jsonb().$type<readonly StoredRuleCall[]>().notNull().default([]),
  actions: jsonb().$type<readonly StoredRuleCall[]>().notNull().default([]),
  /** Conditions and actions of a sensitive rule, which nobody is shown. */
  sealed: text(),
  ...timeColumns(),
});
export type InspectionRuleRow = typeof inspectionRules.$inferSelect;
