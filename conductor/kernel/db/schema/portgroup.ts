import { bigint, boolean, index, integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/** Ports of a node that its instance bonds. */
export const portgroups = pgTable(
  'portgroups',
  {
    id: bigint({ mode: 'number' }).generatedAlwaysAsIdentity().notNull().unique(),
    uuid: uuid().primaryKey(),
    nodeUuid: uuid()
      .notNull()
      .references(() => nodes.uuid, { onDelete: 'cascade' }),
    name: text().unique(),
    /** Lower-case `aa:bb:cc:dd:ee:ff`. */
    address: text().unique(),
    /** Linux's bonding modes, by name or number. */
    mode: text().notNull().default('active-backup'),
    properties: jsonb().$type<JsonObject>().notNull().default({}),
    standalonePortsSupported: boolean().notNull().default(true),
    /** Of its bond on the switch, kept for it alone. */
    bondNumber: integer(),
    extra: jsonb().$type<JsonObject>().notNull().default({}),
    createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
    updatedAt: timestamp({ withTimezone: true, precision: 3 }),
  },
  (table) => [index().on(table.nodeUuid)],
);
export type PortgroupRow = typeof portgroups.$inferSelect;
