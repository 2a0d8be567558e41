import { bigint, boolean, integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';

/** What a condition or an action of a rule is, as it was written. */
export interface StoredRuleCall {
  readonly op: string;
  readonly args?: Readonly<Record<string, unknown>> | readonly unknown[] | undefined;
  readonly loop?: Readonly<Record<string, unknown>> | readonly unknown[] | undefined;
  readonly multiple?: string | undefined;
}

/** Rules of the API, which inspections apply beside those of the file. */
export const inspectionRules = pgTable('inspection_rules', {
  id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().notNull().unique(),
  uuid: uuid().primaryKey(),
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
  createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  updatedAt: timestamp({ withTimezone: true, precision: 3 }),
});
export type InspectionRuleRow = typeof inspectionRules.$inferSelect;
