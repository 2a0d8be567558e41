import { bigint, boolean, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { instantColumn, sequenceColumn, timeColumns } from '#conductor/kernel/db/schema/columns.ts';
import { ofNode } from '#conductor/kernel/db/schema/node.ts';
import { portgroups, ports } from '#conductor/kernel/db/schema/port.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

export const nodeTraits = pgTable(
  'node_traits',
  {
    nodeUuid: ofNode().notNull(),
    trait: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.nodeUuid, table.trait] })],
);

/** Firmware as `GET /v1/nodes/{node}/firmware` answers it; times in ISO 8601. */
export interface KnownFirmware {
  readonly component: string;
  /** When the conductor first saw it. */
  readonly initial_version: string | null;
  readonly current_version: string | null;
  /** The version that an update by the conductor has brought. */
  readonly last_version_flashed: string | null;
  readonly created_at: string;
  readonly updated_at: string | null;
  /** Maker of its part; absent, like the two below, where an older release has read it. */
  readonly vendor?: string | null;
  readonly model?: string | null;
  readonly serial_number?: string | null;
}

/** The versions of a node's firmware as last read. */
export const nodeFirmware = pgTable('node_firmware', {
  nodeUuid: ofNode().primaryKey(),
  components: jsonb().$type<readonly KnownFirmware[]>().notNull(),
  readAt: instantColumn().notNull(),
});

/** Parts of the machine when its ramdisk last looked; documents of the agent's, read back by clients. */
export const nodeInventory = pgTable('node_inventory', {
  nodeUuid: ofNode().primaryKey(),
  inventory: jsonb().$type<JsonObject>().notNull(),
  /** Disks, as inventories reported them, that were there before and have not been seen since; an inspection ends it. */
  missingDisks: jsonb().$type<readonly JsonObject[]>().notNull().default([]),
  pluginData: jsonb().$type<JsonObject>().notNull().default({}),
  collectedAt: instantColumn().notNull().defaultNow(),
});
export type NodeInventoryRow = typeof nodeInventory.$inferSelect;

/** A node's BIOS settings as last read, for `GET /v1/nodes/{node}/bios`. What the BMC does not report is null. */
export const biosSettings = pgTable(
  'bios_settings',
  {
    nodeUuid: ofNode().notNull(),
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
    ...timeColumns(),
  },
  (table) => [primaryKey({ columns: [table.nodeUuid, table.name] })],
);
export type BiosSettingRow = typeof biosSettings.$inferSelect;

/** The tenant networks that an operator has attached to a node: an id of Ironic's VIF API is a name of the networks file here. */
export const nodeVifs = pgTable(
  'node_vifs',
  {
    id: sequenceColumn().primaryKey(),
    nodeUuid: ofNode().notNull(),
    vifId: text().notNull(),
    /** Where it was asked for; neither = where there is room. */
    portUuid: uuid()
      .unique()
      .references(() => ports.uuid),
    portgroupUuid: uuid()
      .unique()
      .references(() => portgroups.uuid),
    createdAt: instantColumn().notNull().defaultNow(),
  },
  (table) => [uniqueIndex('one_vif_of_a_name_per_node').on(table.nodeUuid, table.vifId)],
);

/** A node's object in Kubernetes, as far as it distinguishes one life of a machine from another. */
export interface ClusterRegistration {
  /** `metadata.uid` */
  readonly uid: string;
  readonly bootId?: string | undefined;
  /** When it was seen first, by the database's clock; ISO 8601. */
  readonly at: string;
}

/**
 * Membership of a machine in its clusters when it was seen there last: what a redeploy has to bring back, and what
 * distinguishes the new instance from the one before.
 */
export const clusterMemberships = pgTable('cluster_memberships', {
  nodeUuid: ofNode().primaryKey(),
  /** Objects that stood for it in Kubernetes; empty = it was never seen there. */
  registrations: jsonb().$type<ClusterRegistration[]>().notNull().default([]),
  /** Names of the etcd clusters that a member of it was taken out of. */
  etcdClusters: jsonb().$type<string[]>().notNull().default([]),
});
export type ClusterMembershipRow = typeof clusterMemberships.$inferSelect;
