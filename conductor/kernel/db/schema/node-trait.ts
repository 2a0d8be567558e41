import { pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

export const nodeTraits = pgTable(
  'node_traits',
  {
    nodeUuid: uuid()
      .notNull()
      .references(() => nodes.uuid, { onDelete: 'cascade' }),
    trait: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.nodeUuid, table.trait] })],
);
