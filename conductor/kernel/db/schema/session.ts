import { index, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** A browser's login that goes on. What it was proven by is sealed in the browser's cookie, and not kept here. */
export const sessions = pgTable(
  'sessions',
  {
    /** SHA-256 of the cookie, hexadecimal. */
    digest: text().primaryKey(),
    endsAt: timestamp({ withTimezone: true, precision: 3 }).notNull(),
  },
  (table) => [index().on(table.endsAt)],
);
