import { sql } from 'drizzle-orm';
import { index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { identityColumns, instantColumn, sequenceColumn, timeColumns } from '#conductor/kernel/db/schema/columns.ts';
import type { DeliveryState } from '#conductor/model/site/transitions.ts';

/** Somebody who is notified of what happens to nodes. */
export const webhooks = pgTable('webhooks', {
  ...identityColumns(),
  name: text().notNull().unique(),
  url: text().notNull(),
  /** Types of events, or their beginnings (`node`); empty = all. */
  events: jsonb().$type<string[]>().notNull().default([]),
  /** `whsec_…`: what deliveries are signed with; it must be read again for each, so it can't be kept as a hash. */
  secret: text().notNull(),
  /** Only events of what this owner or lessee has; null = everything. */
  project: text(),
  createdBy: text(),
  ...timeColumns(),
});
export type WebhookRow = typeof webhooks.$inferSelect;

/** The outbox: written in the transaction of what it reports, emptied by whichever conductor comes first. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: sequenceColumn().primaryKey(),
    webhookUuid: uuid()
      .notNull()
      .references(() => webhooks.uuid, { onDelete: 'cascade' }),
    /** The same for every webhook and every try. */
    eventId: uuid().notNull(),
    eventType: text().notNull(),
    /** The node or allocation, which may be gone by now: its events are delivered in the order of `id`. */
    subject: uuid().notNull(),
    body: jsonb().$type<Record<string, unknown>>().notNull(),
    state: text().$type<DeliveryState>().notNull().default('pending'),
    attempts: integer().notNull().default(0),
    nextAttemptAt: instantColumn().notNull().defaultNow(),
    /** A conductor is at it until then; another may take it later. */
    claimedUntil: instantColumn(),
    /** The conductor that has claimed it; null = a release before 0044 has. */
    claimedBy: text(),
    lastStatus: integer(),
    lastError: text(),
    createdAt: instantColumn().notNull().defaultNow(),
    endedAt: instantColumn(),
  },
  (table) => [
    index('webhook_deliveries_pending').on(table.webhookUuid, table.subject, table.id).where(sql`state = 'pending'`),
    index().on(table.webhookUuid, table.id),
  ],
);
export type WebhookDeliveryRow = typeof webhookDeliveries.$inferSelect;
