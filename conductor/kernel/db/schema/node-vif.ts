import { bigint, pgTable, text, timestamp, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { portgroups } from '#conductor/kernel/db/schema/portgroup.ts';

/** The tenant networks that an operator has attached to a node: an id of Ironic's VIF API is a name of the networks file here. */
export const nodeVifs = pgTable(
  'node_vifs',
  {
    id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().primaryKey(),
    nodeUuid: uuid()
      .notNull()
      .references(() => nodes.uuid, { onDelete: 'cascade' }),
    vifId: text().notNull(),
    /** Where it was asked for; neither = where there is room. */
    portUuid: uuid()
      .unique()
      .references(() => ports.uuid),
    portgroupUuid: uuid()
      .unique()
      .references(() => portgroups.uuid),
    createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  },
  (table) => [uniqueIndex('one_vif_of_a_name_per_node').on(table.nodeUuid, table.vifId)],
);
