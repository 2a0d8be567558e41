import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { instantColumn } from '#conductor/kernel/db/schema/columns.ts';

/**
 * Sessions that conductors have at BMCs, which have room for few; no token is kept. Rows belong to no node: those behind one
 * BMC share its session.
 */
export const bmcSessions = pgTable(
  'bmc_sessions',
  {
    /** Where the BMC is reached, `https://10.0.0.5`. */
    origin: text().notNull(),
    /** The session's own path; a BMC may give it again once the session has ended. */
    path: text().notNull(),
    username: text().notNull(),
    /** Conductor that has made it: `conductors.hostname`. */
    conductor: text().notNull(),
    openedAt: instantColumn().notNull().defaultNow(),
    /** Nobody uses it any more, and it may still be there; null = in use. */
    leftAt: instantColumn(),
  },
  (table) => [
    primaryKey({ columns: [table.origin, table.path] }),
    index().on(table.leftAt),
    // what a period asks for must not read those of all that live
    index().on(table.conductor).where(sql`left_at is null`),
  ],
);
