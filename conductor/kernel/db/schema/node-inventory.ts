import { jsonb, pgTable, timestamp, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/** What the machine was made of when its ramdisk last looked; documents of the agent's, read back by clients. */
export const nodeInventory = pgTable('node_inventory', {
  nodeUuid: uuid()
    .primaryKey()
    .references(() => nodes.uuid, { onDelete: 'cascade' }),
  inventory: jsonb().$type<JsonObject>().notNull(),
  /** Disks, as the inventories told of them, that were there before and have not been seen since; an inspection ends it. */
  missingDisks: jsonb().$type<readonly JsonObject[]>().notNull().default([]),
  pluginData: jsonb().$type<JsonObject>().notNull().default({}),
  collectedAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
});
export type NodeInventoryRow = typeof nodeInventory.$inferSelect;
