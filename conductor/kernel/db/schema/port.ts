import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { identityColumns, instantColumn, timeColumns } from '#conductor/kernel/db/schema/columns.ts';
import { ofNode } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { FoundVlans } from '#conductor/model/port-vlans.ts';
import type { FoundBond, SwitchBond } from '#conductor/model/switch-bond.ts';

/** Ports of a node that its instance bonds. */
export const portgroups = pgTable(
  'portgroups',
  {
    ...identityColumns(),
    nodeUuid: ofNode().notNull(),
    name: text().unique(),
    /** Lower-case `aa:bb:cc:dd:ee:ff`. */
    address: text().unique(),
    /** Linux's bonding modes, by name or number. */
    mode: text().notNull().default('active-backup'),
    properties: jsonb().$type<JsonObject>().notNull().default({}),
    standalonePortsSupported: boolean().notNull().default(true),
    /** Network of members that name none of their own. */
    physicalNetwork: text(),
    /** Kind of group, for rules that choose ports for networks, as a port's. */
    category: text(),
    /** Whether a rule has made it for a network, with which it goes. */
    dynamicPortgroup: boolean().notNull().default(false),
    /** Number of its bond on the switch, reserved for this group. */
    bondNumber: integer(),
    extra: jsonb().$type<JsonObject>().notNull().default({}),
    ...timeColumns(),
  },
  (table) => [index().on(table.nodeUuid)],
);
export type PortgroupRow = typeof portgroups.$inferSelect;

export const ports = pgTable(
  'ports',
  {
    ...identityColumns(),
    nodeUuid: ofNode().notNull(),
    portgroupUuid: uuid().references(() => portgroups.uuid),
    /** Lower-case `aa:bb:cc:dd:ee:ff`. */
    address: text().notNull().unique(),
    name: text().unique(),
    description: text(),
    extra: jsonb().$type<JsonObject>().notNull().default({}),
    localLinkConnection: jsonb().$type<JsonObject>().notNull().default({}),
    pxeEnabled: boolean().notNull().default(true),
    physicalNetwork: text(),
    /** Maker of the card; inspection fills it in. */
    vendor: text(),
    /** Kind of port, for rules that choose ports for networks: `storage`. */
    category: text(),
    /** Whether rules may put it into groups that they make. */
    availableForDynamicPortgroup: boolean().notNull().default(true),
    isSmartnic: boolean().notNull().default(false),
    ...timeColumns(),
  },
  (table) => [
    index().on(table.nodeUuid),
    // two machines behind one switch port would move each other between networks
    uniqueIndex('one_port_per_switch_port').on(
      sql`lower(${table.localLinkConnection} ->> 'switch_id')`,
      sql`lower(${table.localLinkConnection} ->> 'port_id')`,
    ),
  ],
);

export type PortRow = typeof ports.$inferSelect;
export type PortInsert = typeof ports.$inferInsert;

/** Where a port's switch port was last put and read back; no row = never touched. */
export const switchPorts = pgTable('switch_ports', {
  portUuid: uuid()
    .primaryKey()
    .references(() => ports.uuid, { onDelete: 'cascade' }),
  /** A name of the networks file; null = isolated. */
  network: text(),
  vlan: integer(),
  /** The bond that the port was made a member of. */
  bond: jsonb().$type<SwitchBond>(),
  appliedAt: instantColumn().notNull().defaultNow(),
  /** VLANs that the port was found with when it was last read; null = what was applied. */
  found: jsonb().$type<FoundVlans>(),
  foundBond: jsonb().$type<FoundBond | 'unknown'>(),
  lookedAt: instantColumn(),
});

export type SwitchPortRow = typeof switchPorts.$inferSelect;
