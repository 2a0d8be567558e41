import { bigint, boolean, jsonb, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/** A node's BIOS settings as last read, for `GET /v1/nodes/{node}/bios`. What the BMC does not tell is null. */
export const biosSettings = pgTable(
  'bios_settings',
  {
    nodeUuid: uuid()
      .notNull()
      .references(() => nodes.uuid, { onDelete: 'cascade' }),
    name: text().notNull(),
    value: text(),
    /** `Enumeration`, `String`, `Integer`, `Boolean`, `Password` … as Redfish's registries call them. */
    attributeType: text(),
    allowableValues: jsonb().$type<string[]>(),
    lowerBound: bigint({ mode: 'number' }),
    upperBound: bigint({ mode: 'number' }),
    minLength: bigint({ mode: 'number' }),
    maxLength: bigint({ mode: 'number' }),
    readOnly: boolean(),
    resetRequired: boolean(),
    unique: boolean(),
    createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
    updatedAt: timestamp({ withTimezone: true, precision: 3 }),
  },
  (table) => [primaryKey({ columns: [table.nodeUuid, table.name] })],
);
export type BiosSettingRow = typeof biosSettings.$inferSelect;
