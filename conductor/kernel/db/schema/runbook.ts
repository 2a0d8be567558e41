import { bigint, boolean, integer, jsonb, pgTable, text, timestamp, unique, uuid } from 'drizzle-orm/pg-core';
import type { JsonObject } from '#conductor/model/json-object.ts';

/** Steps of a cleaning or a service under the name of a trait, for nodes that have it. */
export const runbooks = pgTable('runbooks', {
  id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().notNull().unique(),
  uuid: uuid().primaryKey(),
  /** A trait: `CUSTOM_BIOS_UPDATE`. */
  name: text().notNull().unique(),
  disableRamdisk: boolean().notNull().default(false),
  /** For every project; it has no owner then. */
  public: boolean().notNull().default(false),
  /** The project that it belongs to; none = for callers without a project. */
  owner: text(),
  extra: jsonb().$type<JsonObject>().notNull().default({}),
  createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  updatedAt: timestamp({ withTimezone: true, precision: 3 }),
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
