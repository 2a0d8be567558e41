import { integer, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core';
import { identityColumns, timeColumns } from '#conductor/kernel/db/schema/columns.ts';
import { ofNode } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

const common = () => ({
  ...identityColumns(),
  nodeUuid: ofNode().notNull(),
  extra: jsonb().$type<JsonObject>().notNull().default({}),
  ...timeColumns(),
});

/** How the node reaches remote storage: its initiator name, its address. */
export const volumeConnectors = pgTable(
  'volume_connectors',
  {
    ...common(),
    /** `iqn`, `ip`, `mac`, `wwnn`, `wwpn`, `port`, `portgroup`. */
    type: text().notNull(),
    connectorId: text().notNull(),
  },
  (table) => [unique().on(table.type, table.connectorId)],
);
export type VolumeConnectorRow = typeof volumeConnectors.$inferSelect;

/** A remote disk of the node; `boot_index` 0 is what it boots from, without image and without agent. */
export const volumeTargets = pgTable(
  'volume_targets',
  {
    ...common(),
    /** `iscsi`, `fibre_channel` … */
    volumeType: text().notNull(),
    volumeId: text().notNull(),
    bootIndex: integer().notNull(),
    properties: jsonb().$type<JsonObject>().notNull().default({}),
  },
  (table) => [unique().on(table.nodeUuid, table.bootIndex)],
);
export type VolumeTargetRow = typeof volumeTargets.$inferSelect;
