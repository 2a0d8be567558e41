import { bigint, pgTable, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/** The tenant network that an operator has attached to a node: an id of Ironic's VIF API is a name of the networks file here. */
export const nodeVifs = pgTable(
  'node_vifs',
  {
    id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
    nodeUuid: uuid()
      .notNull()
      .references(() => nodes.uuid, { onDelete: 'cascade' }),
    vifId: text().notNull(),
    createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  },
  // all of a node's switch ports are on one network, so there is one VIF
  (table) => [uniqueIndex('one_vif_per_node').on(table.nodeUuid)],
);
