import { pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/**
 * One boot of a node's ramdisk: made by the first lookup, deleted when the node is powered off or rebooted, so that the
 * next boot gets a fresh token (agent-protocol.md §3.2).
 */
export const agentSessions = pgTable('agent_sessions', {
  nodeUuid: uuid()
    .primaryKey()
    .references(() => nodes.uuid, { onDelete: 'cascade' }),
  /** Sealed: the conductor repeats it with every command, so it can't be kept as a hash. */
  token: text().notNull(),
  /** The network card that iPXE was given the token for, and the address that it asked from; none = by lookup, or on a CD. */
  bootMac: text(),
  bootSource: text(),
  callbackUrl: text(),
  /** The agent's self-signed certificate, PEM; calls are pinned to it. */
  certificate: text(),
  version: text(),
  createdAt: timestamp({ withTimezone: true, precision: 3 }).notNull().defaultNow(),
  lastHeartbeatAt: timestamp({ withTimezone: true, precision: 3 }),
});

export type AgentSessionRow = typeof agentSessions.$inferSelect;
