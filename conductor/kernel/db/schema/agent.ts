import { bigint, customType, index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instantColumn, sequenceColumn } from '#conductor/kernel/db/schema/columns.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { ofNode } from '#conductor/kernel/db/schema/node.ts';
import type { BootEventName } from '#conductor/model/power-and-boot.ts';
import type { BootAttestation } from '#conductor/model/tpm/boot-attestation.ts';
import type { AdvertisedStep, HardwareManagerVersion, StepKind } from '#shared/wire/step.ts';

/**
 * One boot of a node's ramdisk: made by the first lookup, deleted when the node is powered off or rebooted, so that the
 * next boot gets a fresh token (agent-protocol.md §3.2).
 */
export const agentSessions = pgTable('agent_sessions', {
  nodeUuid: ofNode().primaryKey(),
  /** Sealed: the conductor repeats it with every command, so it can't be kept as a hash. */
  token: text().notNull(),
  /** The network card that iPXE was given the token for, and the address that it asked from; none = by lookup, or on a CD. */
  bootMac: text(),
  bootSource: text(),
  callbackUrl: text(),
  /** The agent's self-signed certificate, PEM; calls are pinned to it. */
  certificate: text(),
  version: text(),
  createdAt: instantColumn().notNull().defaultNow(),
  lastHeartbeatAt: instantColumn(),
  /** Sealed: kernel parameters that the machine is served in this boot, and all that it then measures (`ServedBoot`). */
  served: text(),
  /** Outcome of the boot's attestation; null = nothing is proved yet. */
  attestation: jsonb().$type<BootAttestation>(),
});

export type AgentSessionRow = typeof agentSessions.$inferSelect;

const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' });

/** The logs that the agent handed over when a flow failed: a gzipped tar. */
export const agentLogs = pgTable(
  'agent_logs',
  {
    id: sequenceColumn().primaryKey(),
    nodeUuid: ofNode().notNull(),
    /** Outlives its flow, which is pruned earlier. */
    flowUuid: uuid().references(() => flows.uuid, { onDelete: 'set null' }),
    content: bytes().notNull(),
    collectedAt: instantColumn().notNull().defaultNow(),
  },
  (table) => [index().on(table.nodeUuid), index().on(table.flowUuid)],
);
export type AgentLogRow = typeof agentLogs.$inferSelect;

/** The steps that a node's ramdisk offered when it was last asked: what a plan is made from before it boots again. */
export const agentSteps = pgTable(
  'agent_steps',
  {
    nodeUuid: ofNode().notNull(),
    kind: text().$type<StepKind>().notNull(),
    steps: jsonb().$type<AdvertisedStep[]>().notNull(),
    hardwareManagerVersion: jsonb().$type<HardwareManagerVersion>().notNull(),
    gatheredAt: instantColumn().notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.nodeUuid, table.kind] })],
);
export type AgentStepsRow = typeof agentSteps.$inferSelect;

/** Events that were seen of nodes' machines while they booted. */
export const nodeBootEvents = pgTable(
  'node_boot_events',
  {
    id: sequenceColumn().primaryKey(),
    nodeUuid: ofNode().notNull(),
    event: text().$type<BootEventName>().notNull(),
    at: instantColumn().notNull().defaultNow(),
    detail: text(),
    bytes: bigint({ mode: 'number' }),
    conductor: text().notNull(),
  },
  (table) => [index().on(table.nodeUuid, table.id)],
);
export type BootEventRow = typeof nodeBootEvents.$inferSelect;
