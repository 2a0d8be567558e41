import { sql } from 'drizzle-orm';
import { bigint, index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { identityColumns, instantColumn, timeColumns } from '#conductor/kernel/db/schema/columns.ts';
import type { AllocationState } from '#conductor/model/site/transitions.ts';

/** A request for a node, and the node it was given (seed 003). */
export const allocations = pgTable(
  'allocations',
  {
    ...identityColumns(),
    name: text().unique(),
    state: text().$type<AllocationState>().notNull(),
    lastError: text(),
    resourceClass: text().notNull(),
    traits: jsonb().$type<string[]>().notNull().default([]),
    /** UUIDs, in the order given; empty = any node. */
    candidateNodes: jsonb().$type<string[]>().notNull().default([]),
    extra: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    owner: text(),
    /** The node it has; the node's `allocation_uuid` is the foreign key, and both are written in one transaction. */
    nodeUuid: uuid().unique(),
    /** The conductor that works on it (`conductor_affinity` of the seed); every save of its work checks this and the token. */
    conductor: text(),
    /** Grows with each take-over: fences off the one that has lost it. */
    token: bigint({ mode: 'number' }).notNull().default(1),
    /** Ours: until then it waits for capacity in place of failing. */
    waitUntil: instantColumn(),
    /** Ours: why it still waits, as shown to the operator. */
    waitingFor: text(),
    /** Ours: those asked for together with `count` share it. */
    groupUuid: uuid(),
    /** Ours: how many of the group must be found, else none is taken; null = each for itself. */
    minCount: integer(),
    /** Ours: over racks. */
    placement: text().$type<'spread' | 'pack'>(),
    /** Ours: the site action that has asked for it, whose node it thereby is; clients can't write it. */
    actionId: text(),
    ...timeColumns(),
  },
  (table) => [
    index('allocations_to_do').on(table.conductor).where(sql`state = 'allocating'`),
    index().on(table.groupUuid),
  ],
);
export type AllocationRow = typeof allocations.$inferSelect;
export type AllocationInsert = typeof allocations.$inferInsert;
