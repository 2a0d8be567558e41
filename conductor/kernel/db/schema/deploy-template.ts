import { bigint, integer, jsonb, pgTable, text, timestamp, unique, uuid } from 'drizzle-orm/pg-core';
import type { JsonObject } from '#conductor/model/json-object.ts';

/** Steps that an operator prepares under a trait's name; a node whose instance asks for the trait gets them. */
export const deployTemplates = pgTable('deploy_templates', {
  id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().notNull().unique(),
  uuid: uuid().primaryKey(),
  /** A trait: `CUSTOM_RAID1`. */
  name: text().notNull().unique(),
  extra: jsonb().$type<JsonObject>().notNull().default({}),
  createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  updatedAt: timestamp({ withTimezone: true, precision: 3 }),
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
