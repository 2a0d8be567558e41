import { bigint, customType, index, pgTable, timestamp, uuid } from 'drizzle-orm/pg-core';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' });

/** The logs that the agent handed over when a flow failed: a gzipped tar. */
export const agentLogs = pgTable(
  'agent_logs',
  {
    id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
    nodeUuid: uuid()
      .notNull()
      .references(() => nodes.uuid, { onDelete: 'cascade' }),
    /** Outlives its flow, which is pruned earlier. */
    flowUuid: uuid().references(() => flows.uuid, { onDelete: 'set null' }),
    content: bytes().notNull(),
    collectedAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  },
  (table) => [index().on(table.nodeUuid), index().on(table.flowUuid)],
);
export type AgentLogRow = typeof agentLogs.$inferSelect;
