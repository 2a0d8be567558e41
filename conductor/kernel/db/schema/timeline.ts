import { integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { instantColumn } from '#conductor/kernel/db/schema/columns.ts';

/**
 * The database as it was when the first conductor met it on a timeline: each promotion of a standby, and each restore of the
 * server's files, begins one.
 */
export const databaseTimelines = pgTable(
  'database_timelines',
  {
    /** The cluster's, a number of 64 bits. */
    systemIdentifier: text().notNull(),
    timeline: integer().notNull(),
    /** The next transaction's number: all before it are known here, all later ones are not what they were elsewhere. */
    nextXid: text().notNull(),
    /** The position in the log, `0/1920948`. */
    lsn: text().notNull(),
    metAt: instantColumn().notNull().defaultNow(),
    /** Answers that were given and are not there, in words; null = nothing that is known of. */
    behind: text(),
  },
  (table) => [primaryKey({ columns: [table.systemIdentifier, table.timeline] })],
);
