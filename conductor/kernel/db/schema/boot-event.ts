import { bigint, index, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { BootEventName } from '#conductor/model/boot.ts';

/** What was seen of nodes' machines while they booted. */
export const nodeBootEvents = pgTable(
  'node_boot_events',
  {
    id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
    nodeUuid: uuid()
      .notNull()
      .references(() => nodes.uuid, { onDelete: 'cascade' }),
    event: text().$type<BootEventName>().notNull(),
    at: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
    detail: text(),
    bytes: bigint({ mode: 'number' }),
    conductor: text().notNull(),
  },
  (table) => [index().on(table.nodeUuid, table.id)],
);
export type BootEventRow = typeof nodeBootEvents.$inferSelect;
