import { bigint, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/** What several nodes stand in. */
export const chassis = pgTable('chassis', {
  id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().notNull().unique(),
  uuid: uuid().primaryKey(),
  description: text(),
  extra: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  updatedAt: timestamp({ withTimezone: true, precision: 3 }),
});
export type ChassisRow = typeof chassis.$inferSelect;
