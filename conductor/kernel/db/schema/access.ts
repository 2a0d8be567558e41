import { index, pgTable, text } from 'drizzle-orm/pg-core';
import { identityColumns, instantColumn } from '#conductor/kernel/db/schema/columns.ts';

/** A bearer token of the API; what is kept of it can't be used. */
export const apiTokens = pgTable('api_tokens', {
  ...identityColumns(),
  /** The caller's name in history and logs. */
  name: text().notNull().unique(),
  /** SHA-256 of the token, hexadecimal: tokens are random, so a slow hash would protect nothing more. */
  digest: text().notNull().unique(),
  role: text().$type<'admin' | 'member' | 'reader'>().notNull(),
  /** Sees and touches only what this owner or lessee has; null = everything. */
  project: text(),
  createdBy: text(),
  createdAt: instantColumn().notNull().defaultNow(),
  expiresAt: instantColumn(),
  lastUsedAt: instantColumn(),
});
export type ApiTokenRow = typeof apiTokens.$inferSelect;

/** A browser's login that goes on. What it was proven by is sealed in the browser's cookie, and not kept here. */
export const sessions = pgTable(
  'sessions',
  {
    /** SHA-256 of the cookie, hexadecimal. */
    digest: text().primaryKey(),
    endsAt: instantColumn().notNull(),
  },
  (table) => [index().on(table.endsAt)],
);
