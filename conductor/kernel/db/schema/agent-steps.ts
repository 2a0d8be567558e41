import { jsonb, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { AdvertisedStep, HardwareManagerVersion, StepKind } from '#shared/wire/step.ts';

/** The steps that a node's ramdisk offered when it was last asked: what a plan is made from before it boots again. */
export const agentSteps = pgTable(
  'agent_steps',
  {
    nodeUuid: uuid()
      .notNull()
      .references(() => nodes.uuid, { onDelete: 'cascade' }),
    kind: text().$type<StepKind>().notNull(),
    steps: jsonb().$type<AdvertisedStep[]>().notNull(),
    hardwareManagerVersion: jsonb().$type<HardwareManagerVersion>().notNull(),
    gatheredAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.nodeUuid, table.kind] })],
);
export type AgentStepsRow = typeof agentSteps.$inferSelect;
