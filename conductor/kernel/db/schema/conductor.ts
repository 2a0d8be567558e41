import { bigint, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { instantColumn, sequenceColumn } from '#conductor/kernel/db/schema/columns.ts';

/** The register of conductors: each writes its own row periodically; one that has not for a while is dead. */
export const conductors = pgTable('conductors', {
  id: sequenceColumn().notNull().unique(),
  /** `BATON_CONDUCTOR_NAME`. */
  hostname: text().primaryKey(),
  /** It works on the nodes of this group only; '' is the group of nodes without one. */
  conductorGroup: text().notNull().default(''),
  /** Hardware types it can drive. */
  drivers: jsonb().$type<string[]>().notNull(),
  /** Where clients and nodes reach it. */
  publicUrl: text().notNull(),
  /** Grows with each start: what an earlier life of the same name wrote can be recognised. */
  generation: bigint({ mode: 'number' }).notNull().default(1),
  /** The newest work that it can do (`conductor-store.ts`). */
  knows: integer().notNull().default(0),
  /** The generation that has said so: a later one of an older release says nothing. */
  knowsGeneration: bigint({ mode: 'number' }).notNull().default(0),
  createdAt: instantColumn().notNull().defaultNow(),
  /** Its last heartbeat, by the database's clock. */
  updatedAt: instantColumn().notNull().defaultNow(),
  /** It has said good-bye, or its session has ended and it has not come back: not alive, however fresh its heartbeat. */
  stoppedAt: instantColumn(),
});
export type ConductorRow = typeof conductors.$inferSelect;
