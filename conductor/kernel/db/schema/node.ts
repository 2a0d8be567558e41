import { sql } from 'drizzle-orm';
import { type AnyPgColumn, bigint, boolean, index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { identityColumns, instantColumn, timeColumns } from '#conductor/kernel/db/schema/columns.ts';
import type { WipeRequest } from '#conductor/model/flows/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { RecordedOsDisk, SparedDisk } from '#conductor/model/known-disk.ts';
import type { BootDevice, BootMode, PowerHold, PowerState, PowerTarget } from '#conductor/model/power-and-boot.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';

/** Enclosures, each for several nodes. */
export const chassis = pgTable('chassis', {
  ...identityColumns(),
  description: text(),
  extra: jsonb().$type<Record<string, unknown>>().notNull().default({}),
  ...timeColumns(),
});
export type ChassisRow = typeof chassis.$inferSelect;

/**
 * Makes the condition, on a row of `nodes` or in its table's definition, that an operator has asked for a power state or a
 * boot mode.
 */
export function hasTarget(
  of: Readonly<Record<'targetPowerState' | 'targetBootMode' | 'targetSecureBoot', AnyPgColumn>>,
) {
  return sql`(${of.targetPowerState} is not null or ${of.targetBootMode} is not null or ${of.targetSecureBoot} is not null)`;
}

/** Documents that operators write and clients read back (`driver_info`, `properties` …) stay JSON; what Baton itself knows has columns. */
export const nodes = pgTable(
  'nodes',
  {
    ...identityColumns(),
    name: text().unique(),
    driver: text().notNull(),
    driverInfo: jsonb().$type<JsonObject>().notNull().default({}),
    properties: jsonb().$type<JsonObject>().notNull().default({}),
    extra: jsonb().$type<JsonObject>().notNull().default({}),
    instanceInfo: jsonb().$type<JsonObject>().notNull().default({}),
    instanceUuid: uuid().unique(),
    /** Then `instanceUuid` is the same UUID; the opposite is not necessarily so (seed 003). */
    allocationUuid: uuid()
      .unique()
      .references(() => allocations.uuid, { onDelete: 'set null' }),
    chassisUuid: uuid().references(() => chassis.uuid),
    instanceName: text(),
    resourceClass: text(),
    networkInterface: text().notNull(),
    /** null = the default of the hardware type. */
    deployInterface: text(),
    /** The others that are not the default of the hardware type, by kind: `{raid: 'redfish'}`. */
    interfaces: jsonb().$type<Readonly<Record<string, string>>>().notNull().default({}),
    conductorGroup: text().notNull().default(''),
    owner: text(),
    lessee: text(),
    description: text(),
    shard: text(),
    automatedClean: boolean(),
    protected: boolean().notNull().default(false),
    protectedReason: text(),
    retired: boolean().notNull().default(false),
    retiredReason: text(),
    disablePowerOff: boolean().notNull().default(false),
    networkData: jsonb().$type<JsonObject>().notNull().default({}),
    /**
     * The RAID configuration as `PUT states/raid` gave it, and as the agent has built it (agent-protocol.md §7); `{}` =
     * none.
     */
    targetRaidConfig: jsonb().$type<JsonObject>().notNull().default({}),
    raidConfig: jsonb().$type<JsonObject>().notNull().default({}),
    /**
     * Where the last image was written to: kept when the instance is released, because a wipe that preserves local storage
     * erases it and nothing else. null = unknown: adopted, or deployed by an older release.
     */
    osDisk: jsonb().$type<RecordedOsDisk>(),
    /** Disks that a wipe has preserved for the next instance: no deploy may touch them. null = nothing. */
    sparedDisks: jsonb().$type<readonly SparedDisk[]>(),
    /** An instance has come up, or was adopted, since: what was preserved for it ends when it is released. */
    instanceCameUp: boolean().notNull().default(false),
    /** A wipe that was asked for, until a receipt proves it: nothing else makes the node available. */
    owedWipe: jsonb().$type<WipeRequest>(),
    /** The boot mode as last read from the machine: `uefi` or `bios`; null = never read, or the BMC does not report. */
    bootMode: text().$type<BootMode>(),
    secureBoot: boolean(),
    /** The boot mode that an operator has asked for and a conductor still has to set. */
    targetBootMode: text().$type<BootMode>(),
    targetSecureBoot: boolean(),
    /** Set before each boot, as the BMC keeps no device for longer; null = the BMC's own setting is enough. */
    renewedBootDevice: text().$type<BootDevice>(),
    /** Its serial console may be opened. */
    consoleEnabled: boolean().notNull().default(false),

    provisionState: text().$type<ProvisionState>().notNull(),
    targetProvisionState: text().$type<ProvisionState>(),
    provisionUpdatedAt: instantColumn().notNull().defaultNow(),
    powerState: text().$type<PowerState>(),
    /** The machine's health as its BMC last said; null = never read, or the BMC does not report. */
    health: text().$type<'OK' | 'Warning' | 'Critical'>(),
    targetPowerState: text().$type<PowerTarget>(),
    /** Seconds that the operator gives the target; null = the driver's own limits. */
    powerTimeout: integer(),
    /** Set before a step that must not lose power acts; null = nothing is known to be under way. */
    powerHold: jsonb().$type<PowerHold>(),
    /** Failed power reads in a row; at the configured limit the node goes into maintenance. */
    powerFailures: bigint({ mode: 'number' }).notNull().default(0),
    lastError: text(),
    maintenance: boolean().notNull().default(false),
    maintenanceReason: text(),
    fault: text(),
    inspectionStartedAt: instantColumn(),
    inspectionFinishedAt: instantColumn(),
    ...timeColumns(),
  },
  (table) => [
    index().on(table.provisionState),
    // few of many, and each conductor looks for them all the time
    index('nodes_with_a_target').on(table.uuid).where(hasTarget(table)),
  ],
);

export type NodeRow = typeof nodes.$inferSelect;
export type NodeInsert = typeof nodes.$inferInsert;

/** Makes the column of a row that belongs to a node, and goes with it. */
export const ofNode = () => uuid().references(() => nodes.uuid, { onDelete: 'cascade' });

/** The config drive of the instance, as the agent takes it: base64(gzip(iso)) or an http(s) URL. */
export const configDrives = pgTable('config_drives', {
  nodeUuid: ofNode().primaryKey(),
  content: text().notNull(),
});

/**
 * The holder who may work on a node, and until when. `token` grows with every claim: a holder that lost its lease is
 * fenced off.
 */
export const nodeLeases = pgTable('node_leases', {
  nodeUuid: ofNode().primaryKey(),
  holder: text(),
  token: bigint({ mode: 'number' }).notNull(),
  expiresAt: instantColumn().notNull(),
});

/** Events of a node, for `GET /v1/nodes/{node}/history`. */
export const nodeHistory = pgTable(
  'node_history',
  {
    ...identityColumns(),
    nodeUuid: ofNode().notNull(),
    createdAt: instantColumn().notNull().defaultNow(),
    severity: text().$type<'INFO' | 'ERROR'>().notNull(),
    eventType: text().notNull(),
    event: text().notNull(),
    conductor: text().notNull(),
    user: text(),
    /** The project of the caller, when that is bound to one. */
    project: text(),
    /** The request that it comes of, as flows have it. */
    requestId: text(),
    globalRequestId: text(),
    /** The node's states when this was written; null = by an older release. */
    state: text().$type<ProvisionState>(),
    targetProvisionState: text().$type<ProvisionState>(),
    /** Time that the node had been in its state; of a move, in the state that it has left. */
    durationSeconds: integer(),
  },
  (table) => [index().on(table.nodeUuid)],
);
